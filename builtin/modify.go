package builtin

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"unicode/utf8"
)

type modifyArgs struct {
	Operation         string
	Path              string
	Content           *string
	CreateMissingDirs *bool
	Pattern           string
	Replacement       *string
	Regex             bool
	CaseSensitive     *bool
	MaxReplacements   int
	RequireMatch      *bool
	Confirm           bool
	Recursive         bool
}

type modifyAnswer struct {
	Operation    string `json:"operation"`
	Path         string `json:"path"`
	Size         *int64 `json:"size,omitempty"`
	Created      bool   `json:"created,omitempty"`
	Replacements *int   `json:"replacements,omitempty"`
}

func (f *files) modify(_ context.Context, raw json.RawMessage) (any, error) {
	args, err := read[modifyArgs](raw)
	if err != nil {
		return nil, err
	}
	if f.readOnly {
		return nil, errors.New("files can only be read here")
	}
	if args.Path == "" {
		return nil, errors.New("path is missing")
	}
	s, err := f.locate(args.Path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	a := modifyAnswer{Operation: args.Operation, Path: s.path(s.rel)}
	switch args.Operation {
	case "write", "append":
		err = f.write(s, args, &a)
	case "edit":
		err = f.edit(s, args, &a)
	case "delete":
		err = remove(s, args)
	case "":
		err = errors.New("operation is missing: use write, append, edit or delete")
	default:
		err = fmt.Errorf("operation %q is unknown: use write, append, edit or delete", args.Operation)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

func (f *files) write(s *spot, args modifyArgs, a *modifyAnswer) error {
	if args.Content == nil {
		return fmt.Errorf("operation %s needs content", args.Operation)
	}
	if int64(len(*args.Content)) > f.max {
		return fmt.Errorf("content has %d bytes, one call writes at most %d", len(*args.Content), f.max)
	}
	old, err := target(s)
	if err != nil {
		return err
	}
	if dir := filepath.Dir(s.rel); dir != "." && (args.CreateMissingDirs == nil || *args.CreateMissingDirs) {
		if err := s.root.MkdirAll(dir, 0o777); err != nil {
			return plain(err, dir)
		}
	}
	a.Created = old == nil
	size := int64(len(*args.Content))
	if args.Operation == "append" && old != nil {
		size += old.Size()
		err = appendTo(s, *args.Content)
	} else {
		err = replace(s, []byte(*args.Content), old)
	}
	a.Size = &size
	return err
}

// target looks at what stands where a file is to be written: nil if nothing
// does. A link is refused, because writing would change what it points to.
func target(s *spot) (fs.FileInfo, error) {
	if s.rel == "." {
		return nil, errors.New("path is an allowed folder itself, not a file")
	}
	info, err := s.root.Lstat(s.rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, plain(err, s.rel)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("%s is a link: name the file it points to", s.rel)
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder", s.rel)
	}
	return info, mustBeRegular(info, s.rel)
}

func appendTo(s *spot, text string) error {
	f, err := s.root.OpenFile(s.rel, os.O_WRONLY|os.O_APPEND|nonblock, 0)
	if err != nil {
		return plain(err, s.rel)
	}
	_, err = io.WriteString(f, text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return plain(err, s.rel)
	}
	return nil
}

// replace writes beside the file and renames, so that a reader or a crash
// never meets half of it.
func replace(s *spot, data []byte, old fs.FileInfo) error {
	mode := fs.FileMode(0o666)
	if old != nil {
		mode = old.Mode().Perm()
	}
	tmp := filepath.Join(filepath.Dir(s.rel), ".tmp-"+rand.Text())
	f, err := s.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return plain(err, s.rel)
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil && old != nil {
		err = s.root.Chmod(tmp, mode) // the umask may have taken bits away
	}
	if err == nil {
		err = s.root.Rename(tmp, s.rel)
	}
	if err != nil {
		_ = s.root.Remove(tmp)
		return plain(err, s.rel)
	}
	return nil
}

func (f *files) edit(s *spot, args modifyArgs, a *modifyAnswer) error {
	if args.Pattern == "" || args.Replacement == nil {
		return errors.New("operation edit needs pattern and replacement")
	}
	old, err := target(s)
	if err != nil {
		return err
	}
	if old == nil {
		return fmt.Errorf("%s does not exist", s.rel)
	}
	data, err := f.text(s)
	if err != nil {
		return err
	}
	re, err := pattern(args.Pattern, args.Regex, args.CaseSensitive == nil || *args.CaseSensitive)
	if err != nil {
		return err
	}
	out, n, err := f.substitute(re, data, args)
	if err != nil {
		return err
	}
	a.Replacements = &n
	size := int64(len(out))
	a.Size = &size
	if n == 0 {
		if args.RequireMatch == nil || *args.RequireMatch {
			return fmt.Errorf("pattern was not found in %s: nothing changed", s.rel)
		}
		return nil
	}
	return replace(s, out, old)
}

func (f *files) text(s *spot) ([]byte, error) {
	file, info, err := s.regular()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.Size() > f.max {
		return nil, fmt.Errorf("%s has %d bytes, one call edits at most %d", s.rel, info.Size(), f.max)
	}
	data, err := io.ReadAll(io.LimitReader(file, f.max))
	if err != nil {
		return nil, plain(err, s.rel)
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s is not text", s.rel)
	}
	return data, nil
}

// substitute replaces up to MaxReplacements matches; the outcome is bounded,
// since a short pattern and a long replacement multiply.
func (f *files) substitute(re *regexp.Regexp, data []byte, args modifyArgs) ([]byte, int, error) {
	most := -1
	if args.MaxReplacements > 0 {
		most = args.MaxReplacements
	}
	var out bytes.Buffer
	last := 0
	all := re.FindAllSubmatchIndex(data, most)
	for _, loc := range all {
		out.Write(data[last:loc[0]])
		if args.Regex {
			out.Write(re.Expand(nil, []byte(*args.Replacement), data, loc))
		} else {
			out.WriteString(*args.Replacement)
		}
		last = loc[1]
		if int64(out.Len()) > f.max {
			return nil, 0, fmt.Errorf("the edited file would exceed %d bytes: nothing changed", f.max)
		}
	}
	out.Write(data[last:])
	if int64(out.Len()) > f.max {
		return nil, 0, fmt.Errorf("the edited file would exceed %d bytes: nothing changed", f.max)
	}
	return out.Bytes(), len(all), nil
}

func remove(s *spot, args modifyArgs) error {
	if !args.Confirm {
		return errors.New("operation delete needs confirm: true")
	}
	if s.rel == "." {
		return errors.New("an allowed folder itself cannot be deleted")
	}
	info, err := s.root.Lstat(s.rel)
	if err != nil {
		return plain(err, s.rel)
	}
	if !info.IsDir() || !args.Recursive {
		if err := s.root.Remove(s.rel); err != nil {
			if info.IsDir() {
				return fmt.Errorf("%s is not empty: use recursive: true", s.rel)
			}
			return plain(err, s.rel)
		}
		return nil
	}
	if err := s.root.RemoveAll(s.rel); err != nil {
		return plain(err, s.rel)
	}
	return nil
}
