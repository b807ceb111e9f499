package builtin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

// read answers with the text of a file, whole or a part of it.
func (f *files) read(ctx context.Context, s *spot, args queryArgs) (any, error) {
	file, info, err := s.regular()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if args.CountLines {
		n, err := countLines(ctx, file)
		return map[string]any{"path": s.path(s.rel), "lines": n, "size": info.Size()}, err
	}
	var data []byte
	switch {
	case args.LineStart > 0 || args.LineEnd > 0 || args.MaxLines > 0:
		data, err = f.lines(ctx, file, args)
	default:
		data, err = f.bytes(file, info.Size(), args)
	}
	if err != nil {
		return nil, err
	}
	switch args.Encoding {
	case "", "utf-8":
		if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
			return nil, fmt.Errorf("%s is not text: use encoding base64", s.rel)
		}
		return string(data), nil
	case "base64":
		return base64.StdEncoding.EncodeToString(data), nil
	}
	return nil, fmt.Errorf("encoding %q is unknown: use utf-8 or base64", args.Encoding)
}

// bytes reads a byte range; a range of text is widened or narrowed to no
// letter's middle by the caller's choice of offsets.
func (f *files) bytes(file *os.File, size int64, args queryArgs) ([]byte, error) {
	from, to := int64(0), size
	if args.ByteStart != nil {
		from = *args.ByteStart
	}
	if args.ByteEnd != nil {
		to = min(to, *args.ByteEnd+1)
	}
	if args.ByteLength > 0 {
		to = min(to, from+args.ByteLength)
	}
	if from < 0 || from > size || to < from {
		return nil, fmt.Errorf("bytes %d to %d are outside the file, which has %d", from, to, size)
	}
	if to-from > f.max {
		return nil, fmt.Errorf("%d bytes are more than one call gives (%d): narrow with lineStart and maxLines, byteStart and byteLength, or use operation search", to-from, f.max)
	}
	data := make([]byte, to-from)
	n, err := file.ReadAt(data, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read file: %w", err)
	}
	data = data[:n]
	if args.Encoding != "base64" && to < size {
		data = trimLetter(data)
	}
	return data, nil
}

// trimLetter drops a letter cut in the middle at the end.
func trimLetter(data []byte) []byte {
	for i := 1; i <= utf8.UTFMax && i <= len(data); i++ {
		if c := data[len(data)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(data[len(data)-i:]) {
				return data[:len(data)-i]
			}
			break
		}
	}
	return data
}

func (f *files) lines(ctx context.Context, file io.Reader, args queryArgs) ([]byte, error) {
	from := max(args.LineStart, 1)
	var out bytes.Buffer
	taken := 0
	err := eachLine(ctx, file, func(n int, part []byte, end bool) error {
		if args.LineEnd > 0 && n > args.LineEnd || args.MaxLines > 0 && taken >= args.MaxLines {
			return io.EOF
		}
		if n < from {
			return nil
		}
		if int64(out.Len()+len(part)) > f.max {
			return fmt.Errorf("these lines are more than the %d bytes one call gives: ask for fewer", f.max)
		}
		out.Write(part)
		if end {
			taken++
		}
		return nil
	})
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return out.Bytes(), nil
}

func countLines(ctx context.Context, file io.Reader) (int, error) {
	lines := 0
	err := eachLine(ctx, file, func(n int, _ []byte, _ bool) error {
		lines = n
		return nil
	})
	return lines, err
}

// eachLine visits a file line by line, a long line in several parts, of which
// the last one has end. Lines keep their line break.
func eachLine(ctx context.Context, file io.Reader, visit func(n int, part []byte, end bool) error) error {
	r := bufio.NewReaderSize(file, 64<<10)
	n := 1
	for {
		part, err := r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read file: %w", err)
		}
		end := err == nil
		if len(part) > 0 {
			if verr := visit(n, part, end); verr != nil {
				return verr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if end {
			n++
		}
		if cerr := ctx.Err(); cerr != nil {
			return cerr
		}
	}
}

type match struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

type searchAnswer struct {
	Path      string  `json:"path"`
	Pattern   string  `json:"pattern"`
	Matches   []match `json:"matches"`
	Files     int     `json:"files"` // searched
	Truncated bool    `json:"truncated"`
}

// search looks for a pattern in the text files below a folder, or in one file.
// Files that are not text or exceed the limit are passed over.
func (f *files) search(ctx context.Context, s *spot, args queryArgs) (any, error) {
	re, err := pattern(args.Pattern, args.Regex, args.CaseSensitive)
	if err != nil {
		return nil, err
	}
	a := &searchAnswer{Path: s.path(s.rel), Pattern: args.Pattern, Matches: []match{}}
	if i, err := s.root.Stat(s.rel); err == nil && !i.IsDir() {
		file, _, err := s.regular()
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return a, a.file(ctx, file, ".", re, args.MaxResults)
	}
	deep := args.Recursive == nil || *args.Recursive
	err = s.walk(ctx, deep, args.IncludeHidden, func(rel string, d fs.DirEntry) error {
		if !d.Type().IsRegular() {
			return nil
		}
		in := spot{root: s.root, dir: s.dir, rel: joinRel(s.rel, rel)}
		file, info, err := in.regular()
		if err != nil {
			return nil // gone or unreadable: the others still count
		}
		defer file.Close()
		if info.Size() > f.max {
			return nil
		}
		return a.file(ctx, file, rel, re, args.MaxResults)
	}, &a.Truncated)
	return a, err
}

func joinRel(dir, rel string) string {
	if dir == "." {
		return rel
	}
	return dir + "/" + rel
}

func pattern(text string, regex, caseSensitive bool) (*regexp.Regexp, error) {
	if !regex {
		text = regexp.QuoteMeta(text)
	}
	if !caseSensitive {
		text = "(?i)" + text
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	return re, nil
}

// file adds one file's matches; fs.SkipAll when there are enough.
func (a *searchAnswer) file(ctx context.Context, file io.Reader, rel string, re *regexp.Regexp, most int) error {
	a.Files++
	var long []byte // the beginning of a line longer than the reader's buffer
	err := eachLine(ctx, file, func(n int, part []byte, end bool) error {
		if n == 1 && bytes.IndexByte(part, 0) >= 0 {
			return io.EOF // not text
		}
		if loc := re.FindIndex(part); loc != nil && long == nil {
			if len(a.Matches) == most {
				a.Truncated = true
				return fs.SkipAll
			}
			a.Matches = append(a.Matches, match{rel, n, around(part, loc)})
			long = part[:0]
		}
		if end {
			long = nil
		}
		return nil
	})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// around shows a line, or if it is long the part of it that holds the match.
func around(line []byte, loc []int) string {
	line = bytes.TrimRight(line, "\r\n")
	if len(line) > shownLine {
		from := max(0, min(loc[0]-shownLine/4, len(line)-shownLine))
		line = line[from:min(from+shownLine, len(line))]
	}
	return strings.ToValidUTF8(string(line), "\ufffd")
}
