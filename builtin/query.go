package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of one query.
const (
	defaultResults = 1000
	mostResults    = 10_000
	mostVisited    = 200_000 // entries a walk looks at
	shownLine      = 500     // bytes shown of a matching line
)

type queryArgs struct {
	Operation     string
	Path          string
	Pattern       string
	Regex         bool
	CaseSensitive bool
	Recursive     *bool
	IncludeHidden bool
	MaxResults    int
	LineStart     int
	LineEnd       int
	MaxLines      int
	CountLines    bool
	ByteStart     *int64
	ByteEnd       *int64
	ByteLength    int64
	Encoding      string
	Compact       bool
}

func (f *files) query(ctx context.Context, raw json.RawMessage) (any, error) {
	args, err := read[queryArgs](raw)
	if err != nil {
		return nil, err
	}
	if args.Operation == "" {
		args.Operation = "read"
	}
	if args.MaxResults <= 0 {
		args.MaxResults = defaultResults
	}
	args.MaxResults = min(args.MaxResults, mostResults)
	if args.Path == "" && (args.Operation == "read" || args.Operation == "info") {
		return nil, fmt.Errorf("operation %s needs path", args.Operation)
	}
	if args.Pattern == "" && (args.Operation == "search" || args.Operation == "glob") {
		return nil, fmt.Errorf("operation %s needs pattern", args.Operation)
	}
	s, err := f.locate(args.Path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	switch args.Operation {
	case "read":
		return f.read(ctx, s, args)
	case "info":
		return info(s)
	case "list":
		return list(ctx, s, args)
	case "glob":
		return glob(ctx, s, args)
	case "search":
		return f.search(ctx, s, args)
	}
	return nil, fmt.Errorf("operation %q is unknown: use read, list, search, glob or info", args.Operation)
}

type fileEntry struct {
	Path     string `json:"path"`
	Type     string `json:"type"` // file, folder, link or other
	Size     int64  `json:"size"`
	Modified string `json:"modified,omitempty"`
	Mode     string `json:"mode,omitempty"`
}

func entryOf(path string, info fs.FileInfo) fileEntry {
	kind := "other"
	switch m := info.Mode(); {
	case m.IsRegular():
		kind = "file"
	case m.IsDir():
		kind = "folder"
	case m&fs.ModeSymlink != 0:
		kind = "link"
	}
	return fileEntry{Path: path, Type: kind, Size: info.Size(), Modified: info.ModTime().UTC().Format(time.RFC3339)}
}

func info(s *spot) (any, error) {
	i, err := s.root.Lstat(s.rel)
	if err != nil {
		return nil, plain(err, s.rel)
	}
	e := entryOf(s.path(s.rel), i)
	e.Mode = i.Mode().String()
	return e, nil
}

type listAnswer struct {
	Path      string      `json:"path"`
	Entries   []fileEntry `json:"entries"` // paths relative to Path
	Truncated bool        `json:"truncated"`
}

func list(ctx context.Context, s *spot, args queryArgs) (any, error) {
	a := listAnswer{Path: s.path(s.rel), Entries: []fileEntry{}}
	deep := args.Recursive != nil && *args.Recursive
	err := s.walk(ctx, deep, args.IncludeHidden, func(rel string, d fs.DirEntry) error {
		if len(a.Entries) == args.MaxResults {
			a.Truncated = true
			return fs.SkipAll
		}
		if i, err := d.Info(); err == nil {
			e := entryOf(rel, i)
			if args.Compact {
				e.Modified = ""
			}
			a.Entries = append(a.Entries, e)
		}
		return nil
	}, &a.Truncated)
	return a, err
}

type globAnswer struct {
	Path      string   `json:"path"`
	Pattern   string   `json:"pattern"`
	Paths     []string `json:"paths"` // relative to Path
	Truncated bool     `json:"truncated"`
}

func glob(ctx context.Context, s *spot, args queryArgs) (any, error) {
	match, err := globber(args.Pattern)
	if err != nil {
		return nil, err
	}
	a := globAnswer{Path: s.path(s.rel), Pattern: args.Pattern, Paths: []string{}}
	deep := args.Recursive == nil || *args.Recursive
	err = s.walk(ctx, deep, args.IncludeHidden, func(rel string, d fs.DirEntry) error {
		if !match(rel) {
			return nil
		}
		if len(a.Paths) == args.MaxResults {
			a.Truncated = true
			return fs.SkipAll
		}
		a.Paths = append(a.Paths, rel)
		return nil
	}, &a.Truncated)
	return a, err
}

// globber compiles a path pattern: * and ? stay within a name, ** crosses
// folders, [a-z] is a set. One without a slash matches names in any folder.
func globber(pattern string) (func(rel string) bool, error) {
	pattern = filepath.ToSlash(pattern)
	if !strings.Contains(pattern, "/") {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		return func(rel string) bool { ok, _ := path.Match(pattern, path.Base(rel)); return ok }, nil
	}
	var b strings.Builder
	b.WriteString("^")
	for rest := strings.TrimPrefix(pattern, "./"); rest != ""; {
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(?:.*/)?")
			rest = rest[3:]
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			rest = rest[2:]
		case rest[0] == '*':
			b.WriteString("[^/]*")
			rest = rest[1:]
		case rest[0] == '?':
			b.WriteString("[^/]")
			rest = rest[1:]
		case rest[0] == '[' && strings.Contains(rest, "]"):
			end := strings.Index(rest, "]") + 1
			b.WriteString(rest[:end])
			rest = rest[end:]
		default:
			_, n := utf8.DecodeRuneInString(rest)
			b.WriteString(regexp.QuoteMeta(rest[:n]))
			rest = rest[n:]
		}
	}
	re, err := regexp.Compile(b.String() + "$")
	if err != nil {
		return nil, fmt.Errorf("pattern %q is no valid glob", pattern)
	}
	return re.MatchString, nil
}

// walk visits what is below a folder, in order of name, links not followed.
// Paths are relative to the folder, with slashes. It stops after mostVisited
// entries and then sets cut.
func (s *spot) walk(ctx context.Context, deep, hidden bool, visit func(rel string, d fs.DirEntry) error, cut *bool) error {
	sub, err := s.root.OpenRoot(s.rel)
	if err != nil {
		if i, serr := s.root.Stat(s.rel); serr == nil && !i.IsDir() {
			return fmt.Errorf("%s is not a folder", s.rel)
		}
		return plain(err, s.rel)
	}
	defer sub.Close()
	visited := 0
	return fs.WalkDir(sub.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
		if cerr := ctx.Err(); cerr != nil {
			return cerr
		}
		if rel == "." {
			return err
		}
		if err != nil {
			return skip(d) // one unreadable folder does not hide the others
		}
		if !hidden && strings.HasPrefix(d.Name(), ".") {
			return skip(d)
		}
		if visited++; visited > mostVisited {
			*cut = true
			return fs.SkipAll
		}
		if err := visit(rel, d); err != nil {
			return err
		}
		if !deep {
			return skip(d)
		}
		return nil
	})
}

func skip(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}
