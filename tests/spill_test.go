package tests

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/tests/fixture"
)

var handleShape = regexp.MustCompile(`\br\d+[a-z]{2}\b|\br[0-9a-z]{3,6}\b`)

// spilled calls a tool and returns the handle of its kept result.
func (s *session) spilled(tool, arguments string) string {
	s.t.Helper()
	got := s.do(fmt.Sprintf(`{"action":"call","tool":%q,"arguments":%s,"resultToFile":true,"format":"json"}`, tool, arguments)).ok().object()
	h, _ := got["handle"].(string)
	if !handleShape.MatchString(h) {
		s.t.Fatalf("no handle in %v", got)
	}
	return h
}

// read asks readresult with raw members, and returns its text.
func (s *session) read(handle, members string) answer {
	s.t.Helper()
	if members != "" {
		members = "," + members
	}
	return s.do(fmt.Sprintf(`{"action":"readresult","resultFile":%q%s}`, handle, members))
}

func TestSpillReport(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture")))
	cases := []struct {
		kind  string
		bytes int
		words []string
	}{
		{"records", 200_000, []string{"item-000001", "amount"}},
		{"log", 200_000, []string{"grep", "lines"}},
		{"object", 200_000, []string{"items", "total"}},
		{"text", 200_000, []string{"lorem"}},
		{"structured", 200_000, []string{"items"}},
		{"blob", 200_000, []string{"$from"}},
	}
	for _, c := range cases {
		t.Run(c.kind, func(t *testing.T) {
			got := s.tool("big", fmt.Sprintf(`{"bytes":%d,"kind":%q}`, c.bytes, c.kind), "").ok()
			text := got.text()
			if n := countTokens(t, text); n > 300 {
				t.Errorf("the report costs %d tokens, want at most 300:\n%s", n, text)
			}
			if got.fields["structuredContent"] != nil {
				t.Error("structuredContent stayed inline")
			}
			got.wants(c.words...)
			next := regexp.MustCompile(`\{"action".*\}`).FindString(text)
			if !json.Valid([]byte(next)) || next == "" {
				t.Fatalf("no complete next call in:\n%s", text)
			}
			if strings.Contains(next, `"readresult"`) && !strings.Contains(next, `"jq"`) {
				s.do(next).ok()
			}
		})
	}
}

func TestReadBack(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture")))
	records := s.spilled("big", `{"bytes":300000}`)
	log := s.spilled("big", `{"bytes":300000,"kind":"log"}`)
	object := s.spilled("big", `{"bytes":300000,"kind":"object"}`)
	lines := strings.Split(strings.TrimSuffix(fixture.Log(300_000), "\n"), "\n")
	rows := strings.Split(strings.Trim(fixture.Records(300_000), "[]"), "},")
	cases := []struct {
		name, handle, members string
		words                 []string
	}{
		{"stat", records, `"op":"stat"`, []string{"records"}},
		{"stat is the default", log, ``, []string{fmt.Sprint(len(lines))}},
		{"head of records", records, `"op":"head","lines":3`, []string{"item-000001", "item-000002"}},
		{"tail of a log", log, `"op":"tail","lines":2`, lines[len(lines)-2:]},
		{"slice", log, `"op":"slice","fromLine":100,"toLine":101`, lines[99:101]},
		{"bytes", log, `"op":"bytes","offset":0,"maxBytes":20`, []string{"2026-03-01T10:00:01Z"}},
		{"grep", log, `"op":"grep","pattern":"error","limit":2`, []string{"97: " + lines[96], "194: " + lines[193]}},
		{"grep with context", log, `"op":"grep","pattern":"request 000097","context":1`, []string{lines[95], lines[96], lines[97]}},
		{"grep finds one record", records, `"op":"grep","pattern":"item-000777"`, []string{`"id":777,`}},
		{"a missing op is read from the parameters", log, `"pattern":"request 000097"`, []string{lines[96]}},
		{"path into a list", records, `"op":"read","path":"2.name"`, []string{"item-000003"}},
		{"path into an object", object, `"op":"read","path":"total"`, []string{"300000"}},
		{"path then head", object, `"op":"head","path":"items","lines":2`, []string{"item-000001"}},
		{"JSON pointer", object, `"op":"read","path":"/items/4/name"`, []string{"item-000005"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { s.read(c.handle, c.members).ok().wants(c.words...) })
	}
	t.Run("all matches are counted", func(t *testing.T) {
		got := s.read(log, `"op":"grep","pattern":" ERROR ","format":"json"`).ok().object()
		if fmt.Sprint(got["matchCount"]) != fmt.Sprint(len(lines)/97) || fmt.Sprint(got["returnedMatches"]) != "20" {
			t.Errorf("got %v of %v matches, want 20 of %d", got["returnedMatches"], got["matchCount"], len(lines)/97)
		}
	})
	t.Run("a cut answer says where to go on", func(t *testing.T) {
		next, seen := "1", 0
		for range 200 {
			got := s.read(log, `"op":"slice","fromLine":`+next+`,"toLine":`+fmt.Sprint(len(lines))+`,"format":"json"`).ok().object()
			seen += int(number(t, got["lines"]))
			if got["nextLine"] == nil {
				break
			}
			next = fmt.Sprint(got["nextLine"])
		}
		if seen != len(lines) {
			t.Errorf("paging showed %d lines, want %d", seen, len(lines))
		}
	})
	t.Run("records are one a line", func(t *testing.T) {
		got := s.read(records, `"op":"stat","format":"json"`).ok().object()
		if n := int(number(t, got["totalLines"])); n < len(rows) || n > len(rows)+2 {
			t.Errorf("got %d lines for %d records", n, len(rows))
		}
	})
	t.Run("answers stay within the budget", func(t *testing.T) {
		for _, op := range []string{`"op":"read"`, `"op":"head","lines":100000`, `"op":"grep","pattern":".","limit":100000`} {
			if n := len(s.read(log, op).ok().text()); n > 17<<10 {
				t.Errorf("%s answered %d bytes, want at most the budget of 16 KiB", op, n)
			}
		}
	})
	for name, members := range map[string]string{"op": `"op":"sort"`, "pattern": `"op":"grep","pattern":"("`, "path": `"op":"read","path":"no.such.thing"`} {
		t.Run("refused: "+name, func(t *testing.T) {
			if got := s.read(object, members); !got.isError {
				t.Errorf("got %s, want an error", got.text())
			}
		})
	}
}

func number(t *testing.T, v any) int64 {
	t.Helper()
	n, ok := v.(json.Number)
	if !ok {
		t.Fatalf("got %v (%T), want a number", v, v)
	}
	i, err := n.Int64()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestFrom(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture")))
	records := s.spilled("big", `{"bytes":1000}`)
	object := s.spilled("big", `{"bytes":1000,"kind":"object"}`)
	args := s.spilled("mirror", `{"a":9007199254740993,"b":"x"}`)
	rows := strings.Count(fixture.Records(1000), `"id"`)
	cases := []struct{ name, request, want string }{
		{"whole data", fmt.Sprintf(`{"action":"call","tool":"records_sum","arguments":{"rows":{"$from":%q}}}`, records), fmt.Sprintf("%d rows", rows)},
		{"narrowed", fmt.Sprintf(`{"action":"call","tool":"records_sum","arguments":{"rows":{"$from":%q,"path":"items"}}}`, object), fmt.Sprintf("%d rows", rows)},
		{"a scalar", fmt.Sprintf(`{"action":"call","tool":"add","arguments":{"a":{"$from":%q,"path":"0.amount"},"b":1}}`, records), "1.1"},
		{"where a string is wanted", fmt.Sprintf(`{"action":"call","tool":"accept_string","arguments":{"text":{"$from":%q,"path":"0"}}}`, records), `starts with "{\"id\":1`},
		{"exact number", fmt.Sprintf(`{"action":"call","tool":"mirror","arguments":{"v":{"$from":%q,"path":"a"}}}`, args), `{"v":9007199254740993}`},
		{"number spelling", fmt.Sprintf(`{"action":"call","tool":"mirror","arguments":{"v":{"$from":%q,"path":"0.amount"}}}`, records), `{"v":0.10}`},
		{"arguments as a whole", fmt.Sprintf(`{"action":"call","tool":"mirror","arguments":{"$from":%q}}`, args), `{"a":9007199254740993,"b":"x"}`},
		{"argumentsFile", fmt.Sprintf(`{"action":"call","tool":"mirror","argumentsFile":%q}`, args), `{"a":9007199254740993,"b":"x"}`},
		{"argumentsFile with an override", fmt.Sprintf(`{"action":"call","tool":"mirror","argumentsFile":%q,"arguments":{"b":"y"}}`, args), `"b":"y"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { s.do(c.request).ok().wants(c.want) })
	}
	s.do(fmt.Sprintf(`{"action":"call","tool":"mirror","arguments":{"v":{"$from":%q,"path":"no.such"}}}`, args)).fails("bad_request", "Not sent: safe to repeat.")
}

func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture")))
	h := s.spilled("mixed", `{}`)
	want := direct(t, "mixed", `{}`)
	if got := s.read(h+"#raw", `"op":"read"`).ok().text(); compactJSON([]byte(got)) != compactJSON([]byte(string(want.raw))) {
		t.Errorf("#raw: got %s, want %s", clip(got, 600), clip(string(want.raw), 600))
	}
	s.read(h+"#1", `"op":"read"`).ok().wants("a text")
	picture := s.read(h+"#2", `"op":"read"`).ok()
	if len(picture.blocks) == 0 || picture.blocks[len(picture.blocks)-1].Type != "image" {
		t.Errorf("#2: got %s, want an image block", clip(string(picture.raw), 300))
	}
	long := s.tool("error", `{"message":"the tape is torn","bytes":50000}`, "")
	if !long.isError || !strings.Contains(long.text(), "the tape is torn") {
		t.Errorf("a long error lost its message: %s", clip(string(long.raw), 500))
	}
	inline := s.tool("big", `{"bytes":100000}`, `"resultSizeThreshold":0`).ok()
	if inline.text() != fixture.Records(100_000) {
		t.Errorf("resultSizeThreshold 0: got %d bytes, want the records inline", len(inline.text()))
	}
	beside := s.tool("big", `{"bytes":50000,"kind":"image"}`, "").ok()
	if string(beside.raw) == "" || !strings.Contains(string(beside.raw), base64.StdEncoding.EncodeToString(make([]byte, 50000))) {
		t.Error("an image of 50 kB did not stay inline")
	}
}

// left lists the files below dir that are the store's.
func left(dir string) []string {
	var list []string
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			list = append(list, p)
		}
		return nil
	})
	return list
}

func TestStoreOnDisk(t *testing.T) {
	t.Parallel()
	h := newHome(t, config("", fix("fixture")))
	s := h.serve(t)
	got := s.tool("big", `{"bytes":100000}`, `"format":"json"`).ok().object()
	file, _ := got["resultFile"].(string)
	info, err := os.Lstat(file)
	if err != nil {
		t.Fatalf("resultFile: %v in %v", err, got)
	}
	dir, _ := os.Lstat(filepath.Dir(file))
	if info.Mode().Perm() != 0o600 || dir.Mode().Perm() != 0o700 {
		t.Errorf("modes: file %v, folder %v, want 0600 and 0700", info.Mode(), dir.Mode())
	}
	if name := strings.TrimSuffix(filepath.Base(file), ".json"); len(name) < 22 {
		t.Errorf("file name %q holds fewer than 128 random bits", name)
	}
	body, _ := os.ReadFile(file)
	if compactJSON(body) != fixture.Records(100_000) {
		t.Errorf("the file is not the data: %s", clip(string(body), 200))
	}
	s.read(file, `"op":"head","lines":2`).ok().wants("item-000001")
	link := filepath.Join(filepath.Dir(file), "link.json")
	if err := os.Symlink("/etc/hostname", link); err != nil {
		t.Fatal(err)
	}
	if a := s.read(link, `"op":"read"`); !a.isError {
		t.Errorf("a link was followed: %s", a.text())
	}
	_ = os.Remove(link)
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if files := left(filepath.Join(h.dir, "tmp")); len(files) > 0 {
		t.Errorf("left behind after the end: %v", files)
	}
}

func TestStoreAfterKill(t *testing.T) {
	t.Parallel()
	h := newHome(t, config("", fix("fixture")))
	s := h.serve(t)
	handle := s.spilled("big", `{"bytes":100000}`)
	living := h.serve(t)
	alive := living.spilled("big", `{"bytes":1000}`)
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	within(t, patience, s.Ended(), "the end of a killed process")
	next := h.serve(t)
	next.read(handle, "").fails("not_found", "before a restart")
	living.read(alive, `"op":"head"`).ok().wants("item-000001")
	for _, f := range left(filepath.Join(h.dir, "tmp")) {
		if body, _ := os.ReadFile(f); len(body) > 50_000 {
			t.Errorf("%s of the killed process is still there", f)
		}
	}
}
