package spill

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/proxy-dispatch/proxy-dispatch/spill/brief"
	"github.com/proxy-dispatch/proxy-dispatch/spill/byline"
	"github.com/proxy-dispatch/proxy-dispatch/spill/shape"
)

// Query asks for a bounded part of an artifact. Zero fields take their defaults.
type Query struct {
	Op       string // stat (default) head tail slice bytes grep read shape sample; get = read with path, jq = read with jq
	Path     string // narrows the data first: gjson path, dotted path or JSON pointer
	JQ       string // works on what path leaves, see Want
	Lines    int    // head, tail: default 50; sample: default 10
	FromLine int    // slice, grep: from 1; default the first
	ToLine   int    // inclusive; slice: default 50 lines, grep: the last
	Context  int    // grep: lines shown around a match, at most 50
	Limit    int    // grep: matches shown, default 20
	Offset   int64  // bytes, read
	MaxBytes int    // size of the answer up to Options.ReadCeiling; default Budget
	Pattern  string // grep: RE2, case-insensitive
	Invert   bool   // grep: the lines that do not match
	Format   string // compact, detail, json, csv, toon; default: a flat table is read as csv or toon where that is smaller
	Budget   int    // bytes the answer may take, default 16 KiB
}

// Answer is what Read shows. Text is valid UTF-8 and within the budget.
type Answer struct {
	Op              string
	Text            string
	Block           json.RawMessage // an image or audio block in place of Text
	ByteSize        int64           // of what the op worked on
	TotalLines      int
	Lines           int // shown
	FromLine        int // first and last line shown
	ToLine          int
	Pattern         string
	MatchCount      int
	ReturnedMatches int
	Shape           string
	LongestLine     int
	Truncated       bool   // the answer is less than what was asked for
	NextLine        int    // go on here: slice or grep with fromLine
	NextOffset      int64  // or here: bytes with offset
	Offset          int64  // bytes, read: where Text begins
	Rows            int    // elements, if the data is a list
	Format          string // csv or toon, if Text is that
	Base64          bool   // Text is bytes in base64
}

// formats are what Query.Format may be.
var formats = []string{"", "compact", "detail", "json", "csv", "toon"}

const (
	defaultBudget = 16 << 10
	minBudget     = 256
	defaultLines  = 50
	maxContext    = 50
	defaultShown  = 20
	maxShown      = 10000
	maxPattern    = 1000
)

// Read shows a part of an artifact as the query asks. A wrong query is ErrBadQuery or
// ErrNoMatch. It reads the ranges it needs; only path, jq and op shape take the whole (at most 256 MiB) into memory.
func (s *Shelf) Read(ctx context.Context, a *Artifact, p Part, q Query) (Answer, error) {
	return s.ReadAll(ctx, []Item{{a, p}}, q)
}

// ReadAll is Read for several items, at most 20: it works on the list of their data, which it makes in memory.
func (s *Shelf) ReadAll(ctx context.Context, items []Item, q Query) (Answer, error) {
	if err := s.Check(q); err != nil {
		return Answer{}, err
	}
	q, err := s.check(q)
	if err != nil {
		return Answer{}, err
	}
	if q.narrows() || q.Op == "shape" || len(items) > 1 {
		done, err := s.enterNarrow(ctx)
		if err != nil {
			return Answer{}, err
		}
		defer done()
	}
	v, err := s.open(ctx, items, Want{Path: q.Path, JQ: q.JQ})
	if err != nil {
		return Answer{}, err
	}
	defer v.close()
	if s.o.TOON && q.Format == "" && q.Op == "read" && v.isContainer() {
		q.Format = "toon"
	}
	v, form, err := v.shownAs(q)
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Op: q.Op, ByteSize: v.Size, Format: form, Rows: v.rows}
	if v.Index != nil {
		answer.TotalLines, answer.LongestLine = v.Index.Lines(), int(v.Index.Longest)
	}
	if q.Op == "stat" {
		return s.stat(answer, v, items, q)
	}
	if v.Binary {
		return s.readBinary(answer, v, q)
	}
	switch q.Op {
	case "head", "slice":
		err = readLines(&answer, v, q)
	case "tail":
		err = readTail(&answer, v, q)
	case "grep":
		err = s.readGrep(ctx, &answer, v, q)
	case "shape":
		err = readShape(&answer, v, q)
	case "sample":
		err = readSample(&answer, v, q)
	default:
		err = readBytes(&answer, v, q)
	}
	if err != nil {
		return Answer{}, err
	}
	return answer, nil
}

// check fills in the defaults and refuses what cannot be. Afterwards Budget bounds the answer.
func (s *Shelf) check(q Query) (Query, error) {
	bad := func(format string, args ...any) (Query, error) {
		return q, fmt.Errorf("%w: "+format, append([]any{ErrBadQuery}, args...)...)
	}
	switch {
	case !slices.Contains(formats, q.Format):
		return bad("format: %.20q is none of compact, detail, json, csv, toon", q.Format)
	}
	if name, value := q.negative(); name != "" {
		return bad("%s: %d is negative", name, value)
	}
	if q.Budget <= 0 {
		q.Budget = defaultBudget
	}
	if q.MaxBytes > 0 {
		q.Budget = min(q.MaxBytes, s.o.ReadCeiling)
	}
	if q.Op != "bytes" && q.Op != "read" && q.Op != "get" && q.Op != "jq" {
		q.Budget = max(q.Budget, minBudget)
	}
	q.FromLine = max(q.FromLine, 1)
	switch q.Op {
	case "":
		q.Op = "stat"
	case "get":
		q.Op = "read"
		if q.Path == "" {
			return bad("path: op get needs one")
		}
	case "jq":
		q.Op = "read"
		if q.JQ == "" {
			return bad("jq: op jq needs a program")
		}
	case "head":
		q.Lines = orDefault(q.Lines, defaultLines)
		q.FromLine, q.ToLine = 1, q.Lines
	case "slice":
		q.ToLine = orDefault(q.ToLine, q.FromLine+defaultLines-1)
		if q.ToLine < q.FromLine {
			return bad("toLine: %d is before fromLine %d", q.ToLine, q.FromLine)
		}
	case "tail":
		q.Lines = orDefault(q.Lines, defaultLines)
	case "grep":
		q.Context, q.Limit = min(q.Context, maxContext), min(orDefault(q.Limit, defaultShown), maxShown)
		if q.Pattern == "" || len(q.Pattern) > maxPattern {
			return bad("pattern: op grep needs one of at most %d bytes", maxPattern)
		}
	case "sample":
		q.Lines = orDefault(q.Lines, defaultSample)
	case "stat", "bytes", "read", "shape":
	default:
		return bad("op: %.20q is none of stat, head, tail, slice, bytes, grep, read, shape, sample", q.Op)
	}
	return q, nil
}

// negative names a number that is below zero.
func (q Query) negative() (string, int64) {
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"lines", int64(q.Lines)}, {"fromLine", int64(q.FromLine)}, {"toLine", int64(q.ToLine)}, {"context", int64(q.Context)},
		{"limit", int64(q.Limit)}, {"offset", q.Offset}, {"maxBytes", int64(q.MaxBytes)},
	} {
		if n.value < 0 {
			return n.name, n.value
		}
	}
	return "", 0
}

// narrows tells whether the query works on less, or other, than the data.
func (q Query) narrows() bool { return q.Path != "" || q.JQ != "" }

func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// stat says in words what there is.
func (s *Shelf) stat(answer Answer, v *view, items []Item, q Query) (Answer, error) {
	a, p := items[0].Artifact, items[0].Part
	whole := p == Data && !q.narrows() && len(items) == 1
	name := a.Handle + p.String()
	for _, other := range items[1:] {
		name += ", " + other.Artifact.Handle + other.Part.String()
	}
	about, err := v.describe()
	if err != nil {
		return Answer{}, err
	}
	answer.Shape = about.Shape
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s, %s, %d bytes", name, about.Kind, v.MimeType, v.Size)
	if v.Index != nil {
		cost := *a
		if !whole {
			if err := s.count(&cost, v.r, v.Size); err != nil {
				return Answer{}, err
			}
		}
		fmt.Fprintf(&out, ", %d lines (longest %d bytes), %s", answer.TotalLines, answer.LongestLine, cost.cost())
	}
	if answer.Rows = about.Rows; answer.Rows > 0 {
		fmt.Fprintf(&out, ", %d rows", answer.Rows)
	}
	if about.Shape != "" && about.Kind != shape.Blob {
		out.WriteString("\nshape: " + about.Shape)
	}
	if from := SourcesOf(items); len(from) > 0 {
		out.WriteString("\nfrom: " + from.text())
	}
	if about.Sample != "" && !q.narrows() {
		out.WriteString("\nfirst: " + about.Sample)
	}
	if len(a.Parts) > 1 && whole {
		out.WriteString("\nparts: " + partsText(a.Parts, 20))
	}
	if !a.Expires.IsZero() {
		fmt.Fprintf(&out, "\nexpires: %s, %s after the last use", a.Expires.UTC().Format(time.RFC3339), s.o.TTL)
	}
	answer.Text = clipText(out.String(), q.Budget)
	return answer, nil
}

// cost says how many tokens the data has, and how sure that is.
func (a *Artifact) cost() string {
	if a.TokensExact {
		return fmt.Sprintf("%d tokens", a.Tokens)
	}
	return fmt.Sprintf("~%d tokens (±%.1f %%)", a.Tokens, 100*float64(a.TokensError)/float64(max(a.Tokens, 1)))
}

// clipText is clip for texts of several lines.
func clipText(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return s[:startOfRune([]byte(s), max)]
}

func partsText(parts []PartInfo, max int) string {
	var out []string
	for i, p := range parts {
		if i == max {
			out = append(out, fmt.Sprintf("…+%d", len(parts)-i))
			break
		}
		kind := p.Type
		if p.MimeType != "" {
			kind = p.MimeType
		}
		out = append(out, fmt.Sprintf("#%d %s %d bytes", p.N, brief.Clip(kind, shape.MaxKey), p.Bytes))
	}
	return strings.Join(out, ", ")
}

// readBytes shows a range as it is, cut between characters: bytes from Offset, read from the start.
func readBytes(answer *Answer, v *view, q Query) error {
	if q.Offset > v.Size {
		return fmt.Errorf("%w: offset: %d is behind the end, %d", ErrBadQuery, q.Offset, v.Size)
	}
	const lead = utf8.UTFMax - 1
	from := max(q.Offset-lead, 0)
	end := min(q.Offset+int64(q.Budget)+lead, v.Size)
	buf := make([]byte, end-from)
	if err := byline.ReadAt(v.r, buf, from); err != nil {
		return err
	}
	start := startOfRune(buf, int(q.Offset-from))
	stop := startOfRune(buf, min(start+q.Budget, len(buf)))
	if stop == start && start < len(buf) { // a budget below one character: show one, or nothing ever moves on
		_, size := utf8.DecodeRune(buf[start:])
		stop = start + size
	}
	answer.Offset = from + int64(start)
	answer.Text = valid(buf[start:stop])
	if next := from + int64(stop); next < v.Size {
		answer.Truncated, answer.NextOffset = true, next
	}
	return nil
}

// startOfRune moves at back to the beginning of the character it lies in, if it lies in one.
func startOfRune(b []byte, at int) int {
	for back := at; back > 0 && back > at-utf8.UTFMax && back < len(b); back-- {
		if utf8.RuneStart(b[back]) {
			if _, size := utf8.DecodeRune(b[back:]); back+size > at {
				return back
			}
			break
		}
	}
	return at
}

// valid puts a question mark for every byte that is no character; it never makes the text longer.
func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "?")
}

// readBinary shows an image or audio as a block, bytes as base64.
func (s *Shelf) readBinary(answer Answer, v *view, q Query) (Answer, error) {
	kind, _, _ := strings.Cut(v.MimeType, "/")
	switch {
	case q.Op == "bytes":
		n := min(max(int64(q.Budget)/4*3, 3), v.Size-min(q.Offset, v.Size))
		buf := make([]byte, n)
		if err := byline.ReadAt(v.r, buf, min(q.Offset, v.Size)); err != nil {
			return Answer{}, err
		}
		answer.Base64, answer.Offset, answer.Text = true, q.Offset, base64.StdEncoding.EncodeToString(buf)
		if next := q.Offset + n; next < v.Size {
			answer.Truncated, answer.NextOffset = true, next
		}
		return answer, nil
	case q.Op == "read" && (kind == "image" || kind == "audio"):
		data, err := v.all(int64(s.o.ReadCeiling))
		if err != nil {
			return Answer{}, fmt.Errorf("show %s: %w; hand it on by $from", kind, err)
		}
		answer.Block, err = json.Marshal(struct {
			Type     string `json:"type"`
			Data     []byte `json:"data"`
			MimeType string `json:"mimeType"`
		}{kind, data, v.MimeType})
		return answer, err
	}
	return Answer{}, fmt.Errorf("%w: op: %s does not work on %s; hand it on by $from, or op bytes for base64", ErrBadQuery, q.Op, v.MimeType)
}
