package clean

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "Reads a file.\n\tFast.", "Reads a file.\n\tFast."},
		{"letters of many scripts", "Größe 日本 العربية", "Größe 日本 العربية"},
		{"controls", "a\x00b\x1b[31mc\x7f\u0085d", "ab[31mcd"},
		{"line ends", "a\r\nb\rc\u2028d\u2029e", "a\nb\nc\nd\ne"},
		{"zero width", "pass\u200bword\u200c\u200d\u2060\ufeff\u00ad", "password"},
		{"bidirectional", "\u202eevil\u202c \u2066x\u2069\u200e\u061c", "evil x"},
		{"tags", "hi\U000E0001\U000E0068\U000E0069\U000E007F", "hi"},
		{"emoji keeps its look", "⚠\ufe0f stop 1\ufe0f\u20e3", "⚠\ufe0f stop 1\ufe0f\u20e3"},
		{"selectors as data", "a\ufe0f\ufe0e\ufe01\U000E0100b", "a\ufe0fb"},
		{"selector alone", "\ufe0f x \ufe0f", " x "},
		{"fillers", "a\u115f\u3164\uffa0\u034f\u2065b", "ab"},
		{"visible format signs", "\u0600١٢", "\u0600١٢"},
		{"invalid UTF-8", "a\xffb\xc3", "ab"},
		{"a real replacement sign", "a\ufffdb", "a\ufffdb"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Text(tc.in); got != tc.want {
				t.Errorf("Text(%+q) = %+q, want %+q", tc.in, got, tc.want)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	in := json.RawMessage("{\"a\u200bb\":\"x\U000E0041y\u007f\",\"é\":\"日\"}")
	want := `{"a\u200bb":"x\udb40\udc41y\u007f","é":"日"}`
	got := JSON(in)
	if string(got) != want {
		t.Errorf("JSON = %s, want %s", got, want)
	}
	var a, b map[string]string
	if json.Unmarshal(in, &a) != nil || json.Unmarshal(got, &b) != nil || a["a\u200bb"] != b["a\u200bb"] {
		t.Errorf("JSON changed the meaning: %q, want %q", b, a)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\u200b\xff\r\n\ufe0f")
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s)
		if again := Text(got); again != got {
			t.Errorf("Text(Text(%q)) = %q, want %q", s, again, got)
		}
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\r\u200b\u202e") {
			t.Errorf("Text(%q) = %q is not clean", s, got)
		}
	})
}
