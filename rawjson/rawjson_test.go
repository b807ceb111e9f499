package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func nested(depth int, inner string) string {
	return strings.Repeat("[", depth) + inner + strings.Repeat("]", depth)
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name, raw string
		want      error
	}{
		{"object", ` {"a" : [1, -2.5e+3, true], "b":{} } `, nil},
		{"escapes", `"\"\\\/\b\f\n\r\t\u00Ef"`, nil},
		{"invalid UTF-8 passes", "\"a\xffb\"", nil},
		{"zero", `-0.0E-0`, nil},
		{"empty", ``, ErrInvalid},
		{"only space", " \n", ErrInvalid},
		{"two values", `1 2`, ErrInvalid},
		{"leading zero", `01`, ErrInvalid},
		{"no digit after the dot", `1.`, ErrInvalid},
		{"no digit in the exponent", `1e+`, ErrInvalid},
		{"lone minus", `-`, ErrInvalid},
		{"half a word", `[tru]`, ErrInvalid},
		{"trailing comma", `[1,]`, ErrInvalid},
		{"comma in an object", `{"a":1,}`, ErrInvalid},
		{"key without quotes", `{a:1}`, ErrInvalid},
		{"no colon", `{"a" 1}`, ErrInvalid},
		{"wrong bracket", `[1}`, ErrInvalid},
		{"open string", `"abcdefghijkl`, ErrInvalid},
		{"line break in a string", "\"abcdefghi\nj\"", ErrInvalid},
		{"bad escape", `"\x"`, ErrInvalid},
		{"short escape", `"\u12"`, ErrInvalid},
		{"byte order mark", "\ufeff1", ErrInvalid},
		{"deep", nested(MaxDepth, `1`), nil},
		{"too deep", nested(MaxDepth+1, ``), ErrDepth},
		{"too deep and open", strings.Repeat(`{"a":`, MaxDepth+1), ErrDepth},
		{"brackets in strings", `"` + strings.Repeat(`[\"`, MaxDepth+1) + `"`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Check([]byte(tc.raw)); !errors.Is(got, tc.want) {
				t.Errorf("Check = %v, want %v", got, tc.want)
			}
			if got, want := Valid([]byte(tc.raw)), json.Valid([]byte(tc.raw)); got != want {
				t.Errorf("Valid = %v, encoding/json says %v", got, want)
			}
		})
	}
}

// walks shows what each of the ways to walk sees, and whether the checking one was content.
func walks(raw string) (checked, plain, placed []string, ok bool) {
	b := []byte(raw)
	show := func(key, value []byte) { checked = append(checked, fmt.Sprintf("%s=%s", key, value)) }
	switch i := Space(b, 0); {
	case i < len(b) && b[i] == '[':
		ok = Valid(b)
		for v := range Elements(b) {
			show(nil, v)
			plain = append(plain, fmt.Sprintf("=%s", v))
		}
	default:
		ok = Object(b, show)
		for k, v := range Members(b) {
			plain = append(plain, fmt.Sprintf("%s=%s", Quote(k), v))
		}
	}
	for k, v := range Spans(b, Space(b, 0)) {
		placed = append(placed, fmt.Sprintf("%s=%s", k.Of(b), v.Of(b)))
	}
	return checked, plain, placed, ok
}

func TestWalks(t *testing.T) {
	for _, tc := range []struct {
		name, raw string
		want      []string
		ok        bool
	}{
		{"object", ` {"a": 1 ,"b":{"c":[2, 3]},"a":null}`, []string{`"a"=1`, `"b"={"c":[2, 3]}`, `"a"=null`}, true},
		{"array", "[1,\n[2,\"]\"] , {}]", []string{`=1`, `=[2,"]"]`, `={}`}, true},
		{"empty object", `{ }`, nil, true},
		{"empty array", `[]`, nil, true},
		{"scalar", `"x"`, nil, false},
		{"nothing", ``, nil, false},
		{"ends early", `{"a":1,"b":x}`, []string{`"a"=1`}, false},
		{"cut off", `[1,2`, []string{`=1`, `=2`}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			checked, plain, placed, ok := walks(tc.raw)
			if ok != tc.ok {
				t.Errorf("ok = %v, want %v", ok, tc.ok)
			}
			for way, got := range map[string][]string{"checked": checked, "plain": plain, "placed": placed} {
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", way, diff)
				}
			}
		})
	}
}

func TestWalksStop(t *testing.T) {
	seen := 0
	for range Members([]byte(`{"a":1,"b":2}`)) {
		seen++
		break
	}
	for range Spans([]byte(`[1,2]`), 0) {
		seen++
		break
	}
	if seen != 2 {
		t.Errorf("saw %d, want 2", seen)
	}
}

func TestMember(t *testing.T) {
	raw := []byte(`{"a":1,"\u0062":2,"a":3}`)
	if got := Member(raw, "a"); string(got) != "3" {
		t.Errorf("a = %s, want the last one, 3", got)
	}
	if got := Member(raw, "b"); string(got) != "2" {
		t.Errorf("b = %s, want 2", got)
	}
	if got := Member(raw, "c"); got != nil {
		t.Errorf("c = %s, want nil", got)
	}
}

func TestText(t *testing.T) {
	for _, tc := range []struct{ name, raw, text, unquoted string }{
		{"plain", `"abc"`, "abc", "abc"},
		{"escapes", `"\"\\\/\b\f\n\r\t\u00e9"`, "\"\\/\b\f\n\r\té", "\"\\/\b\f\n\r\té"},
		{"pair", `"\ud83d\ude00!"`, "😀!", "😀!"},
		{"half a pair", `"\ud83dx\ude00\ud83d\u0041"`, "\ufffdx\ufffd\ufffdA", "\ufffdx\ufffd\ufffdA"},
		{"invalid UTF-8", "\"a\xff\xfeb\"", "a\xff\xfeb", "a\ufffd\ufffdb"},
		{"no string", `12`, "", ""},
		{"open", `"\"`, "", ""},
		{"bad escape", `"a\qb"`, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := string(Text([]byte(tc.raw))); got != tc.text {
				t.Errorf("Text = %q, want %q", got, tc.text)
			}
			if got := Unquote([]byte(tc.raw)); got != tc.unquoted {
				t.Errorf("Unquote = %q, want %q", got, tc.unquoted)
			}
		})
	}
}

func TestQuote(t *testing.T) {
	if got, want := string(Quote("<a> & \"b\"\n\u2028\xff")), `"<a> & \"b\"\n\u2028\ufffd"`; got != want {
		t.Errorf("Quote = %s, want %s", got, want)
	}
}

func TestCompact(t *testing.T) {
	for _, tc := range []struct{ name, raw, compact, oneLine string }{
		{"compact already", `{"a b":[1,"\" "]}`, `{"a b":[1,"\" "]}`, `{"a b":[1,"\" "]}`},
		{"spaces", ` {"a" : 1.0} `, `{"a":1.0}`, ` {"a" : 1.0} `},
		{"lines", "[1,\r\n 2]\n", `[1,2]`, `[1,2]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := string(Compact([]byte(tc.raw))); got != tc.compact {
				t.Errorf("Compact = %s, want %s", got, tc.compact)
			}
			if got, err := OneLine([]byte(tc.raw)); err != nil || string(got) != tc.oneLine {
				t.Errorf("OneLine = %s, error %v, want %s", got, err, tc.oneLine)
			}
		})
	}
	if got, err := OneLine([]byte("{\"a\":\"x\ny\"}")); !errors.Is(err, ErrInvalid) {
		t.Errorf("OneLine of a string with a line break = %q, error %v, want ErrInvalid", got, err)
	}
}

func FuzzAgainstStandard(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5e-3,"x\ud83d\ude00\n"],"\u0062":{"c":null}}`, " [true, false ,{}]\n", "\"\xff\\ud800\"", `{"a":1,"a":2}`, `[01]`, `-`, `{"":"\q"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		valid := json.Valid(raw)
		if Valid(raw) != valid {
			t.Fatalf("Valid = %v, want %v", !valid, valid)
		}
		checked, plain, placed, ok := walks(string(raw)) // must not panic, whatever it is
		if !valid {
			return
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil || !bytes.Equal(Compact(raw), compact.Bytes()) {
			t.Errorf("Compact = %q, want %q", Compact(raw), compact.Bytes())
		}
		if !cmp.Equal(checked, placed) || len(checked) != len(plain) {
			t.Errorf("Object or Elements show %q, Spans %q, Members or Elements %q", checked, placed, plain)
		}
		var members map[string]json.RawMessage
		var elements []json.RawMessage
		var text string
		switch raw[Space(raw, 0)] {
		case '{':
			got := map[string]json.RawMessage{}
			for k, v := range Members(raw) {
				got[k] = v
			}
			if err := json.Unmarshal(raw, &members); err != nil || !ok || !cmp.Equal(got, members) {
				t.Errorf("members %q, ok %v, want %q", got, ok, members)
			}
		case '[':
			got := []json.RawMessage{}
			for v := range Elements(raw) {
				got = append(got, v)
			}
			if err := json.Unmarshal(raw, &elements); err != nil || !ok || !cmp.Equal(got, elements) {
				t.Errorf("elements %q, ok %v, want %q", got, ok, elements)
			}
		case '"':
			if err := json.Unmarshal(raw, &text); err != nil || Unquote(bytes.TrimSpace(raw)) != text {
				t.Errorf("Unquote = %q, want %q", Unquote(bytes.TrimSpace(raw)), text)
			}
			if back := Unquote(Quote(text)); back != text {
				t.Errorf("Unquote(Quote(%q)) = %q", text, back)
			}
		}
	})
}

// documents are what results look like: one long text, a text full of escapes, many records, a pretty page.
func documents() map[string][]byte {
	record := `{"id":12345,"name":"some name","price":12.5,"tags":["a","b"],"ok":true,"note":null}`
	records := "[" + strings.Repeat(record+",", 20000) + record + "]"
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, []byte(records), "", "  "); err != nil {
		panic(err)
	}
	return map[string][]byte{
		"text":    []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("plain words of some length ", 100000) + `"}]}`),
		"escaped": []byte(`{"content":[{"type":"text","text":` + string(Quote(records)) + `}]}`),
		"records": []byte(`{"structuredContent":` + records + `}`),
		"pretty":  pretty.Bytes(),
	}
}

func BenchmarkCheck(b *testing.B) {
	for name, raw := range documents() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if err := Check(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompact(b *testing.B) {
	for name, raw := range documents() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				Compact(raw)
			}
		})
	}
}

// TestTextLarge: long strings are decoded in halves, with the same outcome.
func TestTextLarge(t *testing.T) {
	for _, tc := range []struct{ name, piece string }{
		{"escapes of two bytes", `{\"a\":\"b\\\\c\\n\",\\\\\"x\"\/\t`}, {"backslashes", `\\`}, {"few", strings.Repeat("plain ", 1000) + `\n`},
		{"with code points", `\"é\u00e9\ud83d\ude00\\u0041`}, {"no escape in the middle", `\n` + strings.Repeat("x", 2*wide)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			raw := []byte(`"` + strings.Repeat(tc.piece, 2*wide/len(tc.piece)+1) + `"`)
			var want string
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			if got := Text(raw); string(got) != want {
				t.Errorf("got %d bytes, want %d", len(got), len(want))
			}
			if n := TextLen(raw); n < len(want) || !strings.Contains(tc.piece, `\u`) && n != len(want) {
				t.Errorf("TextLen is %d, want %d", n, len(want))
			}
		})
	}
	bad := []byte(`"` + strings.Repeat(`\n`, wide) + `\q"`)
	if got := Text(bad); got != nil {
		t.Errorf("a bad escape: got %d bytes, want nil", len(got))
	}
}
