package spill

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/proxy-dispatch/proxy-dispatch/spill/brief"
	"github.com/proxy-dispatch/proxy-dispatch/spill/byline"
	"github.com/proxy-dispatch/proxy-dispatch/spill/grep"
	"github.com/proxy-dispatch/proxy-dispatch/spill/shape"
)

// answerOf reads and checks what holds for every answer.
func answerOf(t testing.TB, s *Shelf, a *Artifact, p Part, q Query) (Answer, error) {
	t.Helper()
	got, err := s.Read(t.Context(), a, p, q)
	if err != nil {
		return got, err
	}
	budget := q.Budget
	if budget <= 0 {
		budget = defaultBudget
	}
	if q.MaxBytes > 0 {
		budget = min(q.MaxBytes, s.o.ReadCeiling)
	}
	if len(got.Text) > max(budget, minBudget) {
		t.Fatalf("%+v: an answer of %d bytes", q, len(got.Text))
	}
	if !utf8.ValidString(got.Text) {
		t.Fatalf("%+v: %q is not UTF-8", q, got.Text)
	}
	return got, nil
}

func TestBytesGoOn(t *testing.T) {
	s := newShelf(t, Options{})
	want := strings.Repeat("aé界😀\n", 300)
	a := put(t, s, text(want))
	for _, size := range []int{1, 2, 3, 5, 7, 100, 4096} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			var got strings.Builder
			for at, n := int64(0), 0; ; n++ {
				answer, err := s.Read(t.Context(), a, Data, Query{Op: "bytes", Offset: at, MaxBytes: size})
				if err != nil || n > len(want) || answer.Offset != at {
					t.Fatalf("Read = %+v, %v", answer, err)
				}
				got.WriteString(answer.Text)
				if !answer.Truncated {
					break
				}
				at = answer.NextOffset
			}
			if got.String() != want {
				t.Errorf("the ranges make other %d bytes", got.Len())
			}
		})
	}
	within, err := s.Read(t.Context(), a, Data, Query{Op: "bytes", Offset: 2, MaxBytes: 4})
	if err != nil || within.Text != "é" || within.Offset != 1 {
		t.Errorf("from within a character: %+v, %v", within, err)
	}
}

func TestLinesGoOn(t *testing.T) {
	s := newShelf(t, Options{})
	a := put(t, s, text(strings.Repeat(strings.Repeat("x", 120)+"\n", 1000)))
	seen := 0
	for line := 1; line > 0; {
		got, err := answerOf(t, s, a, Data, Query{Op: "slice", FromLine: line, ToLine: 1000, Budget: 5000})
		if err != nil || got.FromLine != seen+1 || got.Lines != strings.Count(got.Text, "\n")+1 || got.ToLine != seen+got.Lines {
			t.Fatalf("slice from %d = %+v, %v", line, got, err)
		}
		seen, line = got.ToLine, got.NextLine
	}
	if seen != 1000 {
		t.Errorf("%d lines seen", seen)
	}
	tail, err := answerOf(t, s, a, Data, Query{Op: "tail", Lines: 700, Budget: 5000})
	if err != nil || !tail.Truncated || tail.NextLine != 301 || tail.ToLine != 1000 || tail.FromLine != 1001-tail.Lines || len(tail.Text) < 4800 {
		t.Errorf("tail = %+v, %v", tail, err)
	}
	raised, err := answerOf(t, s, a, Data, Query{Op: "head", Lines: 1000, MaxBytes: 1 << 20})
	if err != nil || raised.Lines != 1000 || raised.Truncated {
		t.Errorf("head with maxBytes = %d lines, %v", raised.Lines, err)
	}
}

func TestGrepGoesOn(t *testing.T) {
	s := newShelf(t, Options{})
	a := put(t, s, text(strings.Repeat("some hit\nnothing\n", 500)))
	seen := 0
	for line := 1; line > 0; {
		got, err := answerOf(t, s, a, Data, Query{Op: "grep", Pattern: "HIT$", FromLine: line, Limit: 30, Budget: 400})
		if err != nil || got.MatchCount != 500-seen || got.ReturnedMatches == 0 || got.ReturnedMatches > 30 {
			t.Fatalf("grep from %d = %+v, %v", line, got, err)
		}
		seen, line = seen+got.ReturnedMatches, got.NextLine
	}
	if seen != 500 {
		t.Errorf("%d hits seen", seen)
	}
}

func TestGrepVeryLongLine(t *testing.T) {
	s := newShelf(t, Options{})
	a := put(t, s, text("first\n"+strings.Repeat("y", 9<<16)+"Needle"+strings.Repeat("z", 1<<14)+"\nneedle"))
	for pattern, want := range map[string][]int{"needle": {2, 3}, "^needle": {3}, "needlez+$": {2}, "^y+needle": {2}} {
		t.Run(pattern, func(t *testing.T) {
			got, err := answerOf(t, s, a, Data, Query{Op: "grep", Pattern: pattern})
			if err != nil || got.MatchCount != len(want) {
				t.Fatalf("grep = %+v, %v, want lines %v", got, err, want)
			}
			for i, line := range strings.Split(got.Text, "\n") {
				if !strings.HasPrefix(line, strconv.Itoa(want[i])+": ") {
					t.Errorf("hit %d is %.40q", i, line)
				}
			}
		})
	}
	got, err := answerOf(t, s, a, Data, Query{Op: "grep", Pattern: "needle", Limit: 1})
	if err != nil || !strings.Contains(got.Text, "Needlezz") || !strings.Contains(got.Text, fmt.Sprintf("[%d bytes]…", 9<<16-100)) {
		t.Errorf("grep = %q, %v", got.Text, err)
	}
}

// Patterns made to be slow for other engines end soon here.
func TestGrepCatastrophic(t *testing.T) {
	s := newShelf(t, Options{})
	a := put(t, s, text(strings.Repeat(strings.Repeat("a", 2000)+"!\n", 50)))
	for _, pattern := range []string{`(a+)+$`, `(a|a)*b`, `(a|aa)+c`, `(.*)(.*)(.*)(.*)d`, `[\s\S]*x`, `(?s).*\n.*y`} {
		if got, err := answerOf(t, s, a, Data, Query{Op: "grep", Pattern: pattern}); err != nil || got.MatchCount != 0 {
			t.Errorf("%s: %d hits, %v", pattern, got.MatchCount, err)
		}
	}
	for _, pattern := range []string{`(a{1000}){1000}`, `((((a{100}){100}){100}){100})`, `a**`, `(?P<x`, `\8`} {
		if _, err := s.Read(t.Context(), a, Data, Query{Op: "grep", Pattern: pattern}); !errors.Is(err, ErrBadQuery) {
			t.Errorf("%s: %v, want ErrBadQuery", pattern, err)
		}
	}
}

// FuzzGrep compares with looking at each line by itself.
func FuzzGrep(f *testing.F) {
	for _, p := range []string{"a", "^a|b$", `\s+x`, `[^b]*c`, `\bfoo\b`, `(?s)a.b`, `\Aa`, `b\z`, "^$", "x*", `[\n]`, `a\nb`, `(?-i)A`, `\pL+`, "(?U)a+", `[[:^alpha:]]`, `.`, `(?m)^`, `$`} {
		f.Add(p, "a\nb x\n\nfoo bar\nA\nabc", false)
		f.Add(p, "\n", true)
		f.Add(p, "x\r\n\xff\n", false)
	}
	s := newShelf(f, Options{})
	f.Fuzz(func(t *testing.T, pattern, data string, invert bool) {
		alone, err := regexp.Compile("(?i)" + pattern)
		re, ours := grep.Compile(pattern)
		if err != nil || ours != nil || len(pattern) > 100 || len(data) > 2000 {
			return
		}
		_ = re
		a, putErr := s.PutData(t.Context(), ann, nil, []byte(data+" "))
		if putErr != nil {
			t.Fatal(putErr)
		}
		v, viewErr := s.view(t.Context(), a, Data)
		if viewErr != nil {
			t.Fatal(viewErr)
		}
		defer v.close()
		content := make([]byte, v.Size)
		if err := byline.ReadAt(v.r, content, 0); err != nil {
			t.Fatal(err)
		}
		var want []string
		for i, line := range bytes.Split(bytes.TrimSuffix(content, []byte("\n")), []byte("\n")) {
			if alone.Match(line) != invert {
				want = append(want, strconv.Itoa(i+1))
			}
		}
		q := Query{Op: "grep", Pattern: pattern, Limit: 10000, Invert: invert, MaxBytes: 1 << 20}
		if pattern == "" {
			return
		}
		got, err := answerOf(t, s, a, Data, q)
		if err != nil || got.MatchCount != len(want) || got.ReturnedMatches != len(want) {
			t.Fatalf("grep %q in %q: %d hits, %v, want lines %v\n%s", pattern, content, got.MatchCount, err, want, got.Text)
		}
		for i, line := range strings.Split(got.Text, "\n") {
			if len(want) > 0 && !strings.HasPrefix(line, want[i]+": ") {
				t.Fatalf("grep %q in %q: hit %d is %q, want line %s", pattern, content, i, line, want[i])
			}
		}
	})
}

func TestParts(t *testing.T) {
	s := newShelf(t, Options{})
	image := base64.StdEncoding.EncodeToString([]byte("\x89PNG\x00\x01\x02"))
	a := put(t, s, `{"content":[{"type":"text","text":"one\ntwo"},{"type":"image","mimeType":"image/png","data":"`+image+`"},{"type":"text","text":"{\"a\": [1]}"},{"type":"resource_link","uri":"x:y"}],"structuredContent":{"a":[1]}}`)
	tests := []struct {
		name string
		part Part
		q    Query
		want string
	}{
		{"data", Data, Query{Op: "read"}, "{\"a\":[1]}\n"},
		{"text", 1, Query{Op: "slice", FromLine: 2}, "two"},
		{"same as the data", 3, Query{Op: "read", Path: "a.0"}, "1"},
		{"link", 4, Query{Op: "read", Path: "uri"}, "x:y"},
		{"raw", Raw, Query{Op: "read", Path: "content.0.text"}, "one\ntwo"},
		{"image bytes", 2, Query{Op: "bytes"}, image},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := answerOf(t, s, a, tt.part, tt.q); err != nil || got.Text != tt.want {
				t.Errorf("Read = %q, %v, want %q", got.Text, err, tt.want)
			}
		})
	}
	got, err := s.Read(t.Context(), a, 2, Query{Op: "read"})
	if want := `{"type":"image","data":"` + image + `","mimeType":"image/png"}`; err != nil || string(got.Block) != want {
		t.Errorf("image = %s, %v, want %s", got.Block, err, want)
	}
	if _, err := s.Read(t.Context(), a, 2, Query{Op: "grep", Pattern: "x"}); !errors.Is(err, ErrBadQuery) {
		t.Errorf("grep in an image: %v", err)
	}
	if !strings.HasSuffix(a.Parts[1].Path, "-2.png") || !a.Parts[1].Binary || a.Parts[1].Bytes != 7 {
		t.Errorf("image part %+v", a.Parts[1])
	}
	stat, err := answerOf(t, s, a, Data, Query{})
	if err != nil || !strings.Contains(stat.Text, "#2 image/png 7 bytes") || stat.Shape != "{a:[1]int}" {
		t.Errorf("stat = %+v, %v", stat, err)
	}
}

func TestValuePaths(t *testing.T) {
	s := newShelf(t, Options{})
	a := put(t, s, text(`{"a.b": {"c d": [10, 1.50, "x\u00e9\n"]}, "list": [{"n": 1}, {"n": 2}], "big": 12345678901234567890, "": 7, "~/": 8, "@x": 9}`))
	for path, want := range map[string]string{
		"":                `{"a.b":{"c d":[10,1.50,"x\u00e9\n"]},"list":[{"n":1},{"n":2}],"big":12345678901234567890,"":7,"~/":8,"@x":9}`,
		"/a.b/c d/1":      "1.50",
		"/~0~1":           "8",
		"/":               "7",
		`a\.b.c d.2`:      `"x\u00e9\n"`,
		"a.b":             `{"c d":[10,1.50,"x\u00e9\n"]}`,
		"list.#.n":        "[1,2]",
		"list[1].n":       "2",
		"$.list[1]":       `{"n":2}`,
		".list[]":         "2",
		`["big"]`:         "12345678901234567890",
		"list.#(n==2)":    `{"n":2}`,
		"list|@reverse|0": `{"n":2}`,
		"{big,list.0.n}":  `{"big":12345678901234567890,"n":1}`,
		"$":               `{"a.b":{"c d":[10,1.50,"x\u00e9\n"]},"list":[{"n":1},{"n":2}],"big":12345678901234567890,"":7,"~/":8,"@x":9}`,
		"list.#(n==9).n":  "",
	} {
		t.Run(path, func(t *testing.T) {
			got, err := s.Value(t.Context(), a, Data, path)
			if want == "" {
				if !errors.Is(err, ErrNoMatch) {
					t.Errorf("Value = %s, %v, want ErrNoMatch", got, err)
				}
				return
			}
			if err != nil || string(got) != want {
				t.Errorf("Value = %s, %v, want %s", got, err, want)
			}
		})
	}
}

// FuzzRead asks anything of a few artifacts: no panic, and all answers within their bounds.
func FuzzRead(f *testing.F) {
	s := newShelf(f, Options{})
	all := []*Artifact{
		put(f, s, `{"content":[{"type":"text","text":"x"}],"structuredContent":`+records(200)+`}`),
		put(f, s, text(strings.Repeat("one 界\n", 50)+strings.Repeat("é", 2000))),
		put(f, s, `{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"}]}`),
		put(f, s, text("")),
		put(f, s, `{"content":[{"type":"text","text":"a"},{"type":"text","text":"\u0000\ufffd"}]}`),
	}
	for _, op := range []string{"", "stat", "head", "tail", "slice", "bytes", "grep", "read", "get", "jq", "x"} {
		f.Add(0, 0, op, "", "id", 0, 0, 0, 0, 0, int64(0), 0, 0)
		f.Add(1, 1, op, "", ".", 3, 2, 9, 2, 5, int64(100), 300, 100)
		f.Add(0, -1, op, "content.0.text", "^.$", 1, 1, 1, 1, 1, int64(1), 1, 1)
		f.Add(0, 0, op, "#.name", "9$", 50, 3, 80, 0, 0, int64(7), 0, 1000)
	}
	for _, path := range []string{"#(id>5)#|@reverse", "@tostr|@tostr|@tostr", "..#", "/0/id", "$[0]", "[@this,@this]", "{a:0.id}", "#.@keys", "@dig:x", "0.name.@tostr", "*", "#(name%\"*1*\")#", "@flatten:{\"deep\":true}", "!1"} {
		f.Add(0, 0, "read", path, "", 0, 0, 0, 0, 0, int64(0), 0, 0)
	}
	f.Fuzz(func(t *testing.T, which, part int, op, path, pattern string, lines, from, to, around, limit int, offset int64, maxBytes, budget int) {
		a := all[uint(which)%uint(len(all))]
		p := Part(uint(part)%3) - 1
		if int(p) > len(a.Parts) {
			return
		}
		got, err := answerOf(t, s, a, p, Query{Op: op, Path: path, Pattern: pattern, Lines: lines, FromLine: from, ToLine: to, Context: around, Limit: limit, Offset: offset, MaxBytes: maxBytes, Budget: budget})
		if err != nil {
			for _, known := range []error{ErrBadQuery, ErrNoMatch, ErrTooLarge} {
				if errors.Is(err, known) {
					return
				}
			}
			t.Fatalf("an error no caller knows: %v", err)
		}
		if got.Truncated && got.NextLine == 0 && got.NextOffset == 0 && got.Op != "grep" {
			t.Fatalf("cut, but it does not say where to go on: %+v", got)
		}
	})
}

// degenerate is data made to blow up a report.
func degenerate() map[string]string {
	r := rand.New(rand.NewPCG(2, 2))
	odd := func(n int) string {
		var out strings.Builder
		for range n {
			out.WriteRune(rune(0x10000 + r.IntN(0x20000)))
		}
		return out.String()
	}
	object := func(n int, key func(i int) string, value string) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, ",%s:%s", brief.JSON(key(i)), value)
		}
		return "{" + out.String()[1:] + "}"
	}
	cjk := strings.Repeat("大型结果写入文件不进入上下文", 100)
	wide := object(60, func(i int) string { return odd(30) }, object(60, func(i int) string { return odd(20) }, `[{"a":[1,"x",null,{}]}]`))
	return map[string]string{
		"10000 keys":      manyKeys(10_000),
		"huge keys":       object(30, func(i int) string { return strings.Repeat("k", 10_000) + strconv.Itoa(i) }, "1"),
		"odd keys":        wide,
		"odd records":     "[" + wide + "," + wide + "]",
		"random keys":     "[" + object(39, func(i int) string { return fmt.Sprintf("%x-%x", r.Uint64(), r.Uint64()) }, `"`+odd(50)+`"`) + "]",
		"deep lists":      strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		"deep objects":    strings.Repeat(`{"键":[`, 3000) + strings.Repeat("]}", 3000),
		"one long line":   `"` + strings.Repeat("ab\x7f", 50_000) + `"`,
		"odd line":        `"` + odd(50_000) + `"`,
		"chinese":         object(40, func(i int) string { return cjk[:3*i] + strconv.Itoa(i) }, `"`+cjk+`"`),
		"chinese records": "[" + object(40, func(i int) string { return cjk[:60] + strconv.Itoa(i) }, `"`+cjk+`"`) + "]",
		"mixed list":      "[1,\"a\",null,true,[1],{\"a\":1},2.5" + strings.Repeat(",[[],{}]", 5000) + "]",
		"many texts":      "",
		"many images":     "",
	}
}

func TestReportOfDegenerateData(t *testing.T) {
	s := newShelf(t, Options{})
	var repairs []string
	for range 30 {
		repairs = append(repairs, strings.Repeat("大型结果", 30))
	}
	extras := map[string]ReportExtra{"plain": {}, "repaired": {Repairs: repairs, Note: strings.Repeat("é😀", 500)}}
	for name, data := range degenerate() {
		raw := `{"content":[],"structuredContent":` + data + `}`
		switch name {
		case "many texts":
			raw = `{"content":[{"type":"text","text":"x"}` + strings.Repeat(`,{"type":"text","text":"大型结果","annotations":{}}`, 1000) + `]}`
		case "many images":
			raw = `{"content":[{"type":"text","text":"x"}` + strings.Repeat(`,{"type":"image","mimeType":"image/`+strings.Repeat("大", 40)+`","data":"AAAA"}`, 300) + `]}`
		}
		for which, extra := range extras {
			t.Run(name+"/"+which, func(t *testing.T) {
				a := put(t, s, raw)
				report := a.Report(extra)
				n := s.o.Tokens.Count(report)
				t.Logf("%d tokens", n)
				if n > MaxReport || len(a.Shape) > shape.MaxShort || !utf8.ValidString(report) {
					t.Errorf("a report of %d tokens, a shape of %d bytes:\n%s", n, len(a.Shape), report)
				}
				checkNext(t, s, a, report)
			})
		}
	}
}

// checkNext makes the call that a report suggests.
func checkNext(t *testing.T, s *Shelf, a *Artifact, report string) {
	t.Helper()
	_, next, found := strings.Cut(report, "\nNext: ")
	var call struct {
		Action, ResultFile, Op, Path, JQ, Pattern string
		Lines                                     int
	}
	if err := json.Unmarshal([]byte(next), &call); !found || err != nil {
		t.Fatalf("no call in %q: %v", report, err)
	}
	if call.Action != "readresult" {
		return
	}
	found2, p, err := s.Find(t.Context(), ann, call.ResultFile)
	if err != nil {
		t.Fatalf("%s: %v", next, err)
	}
	if _, err := s.Read(t.Context(), found2, p, Query{Op: call.Op, Path: call.Path, JQ: call.JQ, Pattern: call.Pattern, Lines: call.Lines}); err != nil {
		t.Errorf("%s: %v", next, err)
	}
}

func TestUsualReports(t *testing.T) {
	s := newShelf(t, Options{})
	for name, tt := range map[string]struct{ raw, kind, next string }{
		"records": {`{"content":[],"structuredContent":` + records(300) + `}`, "records", `"jq":"map(.name)|.[:20]"`},
		"wrapped": {`{"content":[],"structuredContent":{"result":` + records(300) + `,"total":300}}`, "object", `"jq":".result|map(.name)|.[:20]"`},
		"log":     {text(strings.Repeat("2026-01-02T03:04:05Z INFO started server on port 80\n", 400)), "log", `"op":"grep","pattern":"error|warn|fail"`},
		"text":    {text(strings.Repeat("It was the best of times, it was the worst of times.\n", 400)), "text", `"op":"grep"`},
		"blob":    {`{"content":[{"type":"image","mimeType":"image/png","data":"` + base64.StdEncoding.EncodeToString(make([]byte, 3000)) + `"}]}`, "blob", `"$from":`},
		"list":    {`{"content":[],"structuredContent":[1` + strings.Repeat(",22222", 3000) + `]}`, "list", `"op":"head"`},
	} {
		t.Run(name, func(t *testing.T) {
			a := put(t, s, tt.raw)
			report := a.Report(ReportExtra{})
			if n := s.o.Tokens.Count(report); n > 150 {
				t.Errorf("%d tokens, want at most 150", n)
			}
			if a.Kind != tt.kind || !strings.Contains(report, tt.next) {
				t.Errorf("kind %s, want %s; report without %s:\n%s", a.Kind, tt.kind, tt.next, report)
			}
			checkNext(t, s, a, report)
		})
	}
}

// TestReadAsTOON: with the option, JSON is shown as TOON where no form is asked for.
func TestReadAsTOON(t *testing.T) {
	s := newShelf(t, Options{TOON: true})
	a := put(t, s, text(`{"user":{"name":"Ann","tags":["a"]},"n":1.50}`))
	for _, tc := range []struct {
		name string
		q    Query
		want string
	}{
		{"an object", Query{Op: "read"}, "user:\n  name: Ann\n  tags[1]: a\nn: 1.50"},
		{"what a path leaves", Query{Op: "read", Path: "user"}, "name: Ann\ntags[1]: a"},
		{"a scalar", Query{Op: "read", Path: "user.name"}, "Ann"},
		{"JSON where that is asked for", Query{Op: "read", Path: "user.tags", Format: "json"}, `["a"]`},
		{"lines stay lines", Query{Op: "head", Lines: 1}, `{"user":{"name":"Ann","tags":["a"]},"n":1.50}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := s.Read(t.Context(), a, Data, tc.q)
			if err != nil || strings.TrimSpace(got.Text) != tc.want {
				t.Errorf("got %q, %v, want %q", got.Text, err, tc.want)
			}
		})
	}
}
