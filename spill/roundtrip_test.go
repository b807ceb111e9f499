package spill

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill/brief"
	"github.com/proxy-dispatch/proxy-dispatch/spill/byline"
	"github.com/proxy-dispatch/proxy-dispatch/spill/layout"
	"github.com/proxy-dispatch/proxy-dispatch/spill/shape"
)

// forms are ways in which programs write the same value.
var forms = []func(v any) string{
	func(v any) string { b, _ := json.Marshal(v); return string(b) },
	func(v any) string { b, _ := json.MarshalIndent(v, "", "  "); return string(b) },
	func(v any) string { return brief.JSON(v) },
	func(v any) string { // all that is not ASCII escaped
		var out strings.Builder
		for _, r := range brief.JSON(v) {
			if r < 0x80 {
				out.WriteRune(r)
				continue
			}
			q := &layout.Quoter{W: &out, Style: layout.ASCII}
			_, _ = q.Write([]byte(string(r)))
		}
		return out.String()
	},
}

// randomValue makes JSON data of some depth.
func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(9); {
	case depth > 0 && n < 2:
		list := make([]any, r.IntN(6))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	case depth > 0 && n < 5:
		object := map[string]any{}
		for range r.IntN(6) {
			object[randomText(r, 8)] = randomValue(r, depth-1)
		}
		return object
	case n == 5:
		return json.Number([]string{"0", "-1", "1.10", "1e5", "12345678901234567890", "-0.0"}[r.IntN(6)])
	case n == 6:
		return r.IntN(2) == 0
	case n == 7:
		return nil
	}
	return randomText(r, 200)
}

func randomText(r *rand.Rand, most int) string {
	alphabet := []rune("abc xyz\n\r\t\"\\/<>&{}[],:é界😀\u2028\u0000\u007f\ufffd")
	var out strings.Builder
	for range r.IntN(most) {
		out.WriteRune(alphabet[r.IntN(len(alphabet))])
	}
	return out.String()
}

func randomBlock(r *rand.Rand) any {
	blob := make([]byte, r.IntN(300))
	for i := range blob {
		blob[i] = byte(r.Uint32())
	}
	coded := base64.StdEncoding.EncodeToString(blob)
	switch r.IntN(8) {
	case 0:
		return map[string]any{"type": "image", "mimeType": "image/png", "data": coded}
	case 1:
		return map[string]any{"type": "audio", "data": coded + []string{"", "=", "\n"}[r.IntN(3)]}
	case 2:
		return map[string]any{"type": "resource", "resource": map[string]any{"uri": "a:b", "blob": coded}}
	case 3:
		return map[string]any{"type": "resource", "resource": map[string]any{"uri": "a:b", "text": randomText(r, 100)}}
	case 4:
		return map[string]any{"type": "resource_link", "uri": "file:///x", "size": 3}
	case 5:
		return randomValue(r, 1)
	case 6:
		return map[string]any{"type": "text", "text": forms[r.IntN(len(forms))](randomValue(r, 3))}
	}
	return map[string]any{"type": "text", "text": randomText(r, 500), "annotations": map[string]any{"priority": 0.5}}
}

// randomResult makes an MCP result of all kinds of blocks, in one of the forms.
func randomResult(r *rand.Rand) string {
	result := map[string]any{}
	if r.IntN(8) > 0 {
		blocks := []any{}
		for range r.IntN(4) {
			blocks = append(blocks, randomBlock(r))
		}
		result["content"] = blocks
	}
	if r.IntN(3) == 0 {
		data := randomValue(r, 3)
		result["structuredContent"] = data
		if r.IntN(2) == 0 {
			result["content"] = []any{map[string]any{"type": "text", "text": forms[r.IntN(len(forms))](data)}}
		}
	}
	if r.IntN(4) == 0 {
		result["isError"] = true
		result["_meta"] = map[string]any{"big": json.Number("9007199254740993")}
	}
	return forms[r.IntN(len(forms))](result)
}

// checkRoundTrip puts a result and compares what its parts give back.
func checkRoundTrip(t testing.TB, s *Shelf, raw string) {
	t.Helper()
	a := put(t, s, raw)
	if got := rawOf(t, s, a); got != raw {
		t.Fatalf("raw of\n%s\nis\n%s", raw, got)
	}
	value, err := s.Value(t.Context(), a, Raw, "")
	if err != nil {
		t.Fatalf("Value of raw: %v", err)
	}
	if rawjson.Valid([]byte(raw)) && string(value) != string(rawjson.Compact([]byte(raw))) {
		t.Fatalf("value of raw %s is %s", raw, value)
	}
	r := result{}
	if rawjson.Valid([]byte(raw)) {
		r, _ = dissect([]byte(raw), nil)
	}
	checkValue(t, s, a, Data, r.raw, r.data())
	for i := range r.blocks {
		checkValue(t, s, a, Part(i+1), r.raw, r.block(i))
	}
	data, err := os.ReadFile(a.Path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(a.Path, ".json") && !json.Valid(data) {
		t.Fatalf("main file is no JSON: %q", data)
	}
	if lines := bytes.Count(data, []byte("\n")); a.Kind != shape.Blob && (a.Lines < lines || a.Lines > lines+1) {
		t.Fatalf("%d lines, the file has %d line feeds", a.Lines, lines)
	}
}

// checkValue compares a part with the payload it was made of.
func checkValue(t testing.TB, s *Shelf, a *Artifact, p Part, raw []byte, want payload) {
	t.Helper()
	if raw == nil {
		return
	}
	got, err := s.Value(t.Context(), a, p, "")
	if err != nil {
		t.Fatalf("Value of %s: %v", p, err)
	}
	if bytes.ContainsAny(got, "\n\r") || !json.Valid(got) {
		t.Fatalf("value of %s is not one line of JSON: %q", p, got)
	}
	switch {
	case want.json:
		if string(got) != string(rawjson.Compact(want.bytes)) {
			t.Fatalf("value of %s is %s, want %s", p, got, want.bytes)
		}
	case want.binary:
		if string(got) != `"`+base64.StdEncoding.EncodeToString(want.bytes)+`"` {
			t.Fatalf("value of %s is %s", p, got)
		}
	default:
		if text := string(rawjson.Text(got)); text != strings.ToValidUTF8(string(want.bytes), "�") {
			t.Fatalf("value of %s is %q, want %q", p, text, want.bytes)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	s := newShelf(t, Options{})
	for seed := range uint64(400) {
		checkRoundTrip(t, s, randomResult(rand.New(rand.NewPCG(seed, 7))))
	}
}

func FuzzRoundTrip(f *testing.F) {
	for seed := range uint64(30) {
		f.Add(randomResult(rand.New(rand.NewPCG(seed, 9))))
	}
	f.Add(`{"content":[{"type":"text","text":"\ud800\udc00 \ud800 \udc00\/"}]}`)
	f.Add(`{"content":[{"type":"image","data":"aGk\/"}],"content":[{"type":"text","text":"[1 ,2]"}]}`)
	f.Add(` {"content" : [ {"type":"text" ,"text": "x"} ] } `)
	s := newShelf(f, Options{QuotaFiles: 50})
	f.Fuzz(func(t *testing.T, raw string) { checkRoundTrip(t, s, raw) })
}

// The disk holds a usual result once, not twice.
func TestStoredOnce(t *testing.T) {
	s := newShelf(t, Options{})
	blob := base64.StdEncoding.EncodeToString([]byte(randomText(rand.New(rand.NewPCG(1, 1)), 1<<20) + "\x00"))
	list := records(2000)
	for name, raw := range map[string]string{
		"structured and the same text": `{"content":[{"type":"text","text":` + brief.JSON(list) + `}],"structuredContent":` + list + `}`,
		"json text":                    text(list),
		"html escaped text":            text(strings.Repeat("<p>\n", 5000)),
		"blob":                         `{"content":[{"type":"image","mimeType":"image/png","data":"` + blob + `"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			before := s.Stats().Bytes
			a := put(t, s, raw)
			if grown := s.Stats().Bytes - before; grown > a.Bytes+inlineRest {
				t.Errorf("a main file of %d bytes takes %d", a.Bytes, grown)
			}
		})
	}
}

func TestLayout(t *testing.T) {
	long := `"` + strings.Repeat("x", 130) + `"`
	for name, tt := range map[string]struct{ in, want string }{
		"scalar":       {" 1.0 ", "1.0\n"},
		"empty list":   {"[ ]", "[]\n"},
		"short list":   {"[1, 2]", "[1,2]\n"},
		"records":      {`[{"a": [1, 2]},{}]`, "[{\"a\":[1,2]},\n{}]\n"},
		"short object": {`{"a": {"b": 1}}`, "{\"a\":{\"b\":1}}\n"},
		"long object":  {`{"a":` + long + `,"b":[{"c":1},{"c":2}]}`, "{\n  \"a\":" + long + ",\n  \"b\":[{\"c\":1},{\"c\":2}]\n}\n"},
		"wrapped list": {`{"a":[{"b":` + long + `},{"b":2}]}`, "{\n  \"a\":[\n    {\"b\":" + long + "},\n    {\"b\":2}\n  ]\n}\n"},
		"long record":  {`[{"a":` + long + `,"b":[` + long + `]}]`, "[{\"a\":" + long + ",\"b\":[" + long + "]}]\n"},
		"spelling":     {`["\u00e9\/", 1.10, 1E+2]`, "[\"\\u00e9\\/\",1.10,1E+2]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if _, err := layout.Write(&out, []byte(tt.in)); err != nil || out.String() != tt.want {
				t.Errorf("layout = %q, %v, want %q", out.String(), err, tt.want)
			}
		})
	}
}

func FuzzJSON(f *testing.F) {
	for seed := range uint64(20) {
		f.Add([]byte(forms[seed%4](randomValue(rand.New(rand.NewPCG(seed, 3)), 4))))
	}
	for _, s := range []string{"", "[", "[1,]", `{"a"}`, `{"a":1,}`, "01", "-", "1.", "1e", `"\x"`, `"\u12g4"`, "\"\x01\"", "tru", "[1 2]", "}", `{"a":}`, "nulll", "[[]", "1 2"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := rawjson.Valid(b), json.Valid(b); got != want {
			t.Fatalf("rawjson.Valid(%q) = %v, want %v", b, got, want)
		}
		if !json.Valid(b) {
			return
		}
		var want, out bytes.Buffer
		if err := json.Compact(&want, b); err != nil {
			t.Fatal(err)
		}
		compact, err := layout.Write(&out, b)
		if err != nil || compact != (want.Len() == len(b)) {
			t.Fatalf("layout of %q: compact %v, %v", b, compact, err)
		}
		if got := rawjson.Compact(out.Bytes()); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("%q laid out is %q", b, out.Bytes())
		}
		if same, compact := layout.Same(b, out.Bytes()); !same || compact != (want.Len() == len(b)) {
			t.Fatalf("layout.Same(%q) = %v, %v", b, same, compact)
		}
		if s := shape.Short(b); len(s) > shape.MaxShort {
			t.Fatalf("shape of %d bytes", len(s))
		}
	})
}

func TestLineIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	var data []byte
	for len(data) < 400_000 {
		n := r.IntN(80)
		if r.IntN(200) == 0 {
			n = r.IntN(150_000)
		}
		data = append(append(data, bytes.Repeat([]byte("x"), n)...), '\n')
	}
	data = append(data, "end"...)
	v := viewOf(data, false)
	lines := bytes.Split(data, []byte("\n"))
	if v.Index.Lines() != len(lines) {
		t.Fatalf("%d lines, want %d", v.Index.Lines(), len(lines))
	}
	all, err := byline.NewReader(v.r, v.Index, 1)
	if err != nil {
		t.Fatal(err)
	}
	at := int64(0)
	for i, want := range lines {
		start, err := v.Index.Start(v.r, i+1)
		if err != nil || start != at {
			t.Fatalf("line %d starts at %d, %v, want %d", i+1, start, err, at)
		}
		got, err := all.Read()
		if err != nil || got.Number != i+1 || got.At != at || got.Size != int64(len(want)) || !bytes.Equal(got.Head, want[:min(len(want), byline.HeadSize)]) {
			t.Fatalf("line %d is %d at %d of %d bytes, %v, want %d bytes at %d", i+1, got.Number, got.At, got.Size, err, len(want), at)
		}
		at += int64(len(want)) + 1
	}
	if _, err := all.Read(); err != io.EOF {
		t.Errorf("behind the end: %v", err)
	}
}

func TestShape(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"records":    {`[{"id":1,"tags":["a"]},{"id":2.5,"tags":[],"note":null}]`, "[2]{id:num, tags:[0-1]str, note?:null}"},
		"nested":     {`{"a":{"b":{"c":[1,"x"]}},"d":true}`, "{a:{b:{c:[2](int|str)}}, d:bool}"},
		"empty":      {`{"a":[],"b":{}}`, "{a:[0], b:{}}"},
		"odd keys":   {`{"a b":1,"":2}`, `{"a b":int, "":int}`},
		"nullable":   {`[{"a":null},{"a":1}]`, "[2]{a:int|null}"},
		"scalar":     {`1`, "int"},
		"dictionary": {manyKeys(500), "{500 keys like key_0:{v:int}}"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := shape.Short([]byte(tt.in)); got != tt.want {
				t.Errorf("shape %s, want %s", got, tt.want)
			}
		})
	}
}

func manyKeys(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, `,"key_%d":{"v":%d}`, i, i)
	}
	return "{" + out.String()[1:] + "}"
}
