package config

import (
	"strings"
	"unicode/utf8"
)

const maxDescribe = 300 // runes

// maskedServer is what of a server's entry may be shown, secrets replaced by structure: values after
// telling flags, parts of URLs and everything that came from a variable.
type maskedServer struct {
	command, url, dir string
	args              []string
}

// masked reads the showable part of a server's entry. Variables read as ***; problems were reported
// when the real values were read.
func (f *fields) masked() maskedServer {
	d := f.decoder
	keep := *d
	defer func() { *d = keep }()
	d.problems = &problems{}
	d.unset = new([]string)
	d.env = func(string) (string, bool) { return hidden, true }
	d.out = &Config{secrets: newSecrets()}
	m := maskedServer{command: f.text("command"), url: f.text("url", "serverUrl", "httpUrl"), dir: f.text("cwd"), args: f.texts("args")}
	m.command = mask(m.command, textSpans(m.command))
	m.url = mask(m.url, textSpans(m.url))
	for i, spans := range argumentSpans(m.args) {
		m.args[i] = mask(m.args[i], spans)
	}
	return m
}

// describe returns one line about how a server is reached.
func (s *secrets) describe(v *Server, m maskedServer) string {
	line := "builtin " + v.Builtin
	switch {
	case v.Command != "":
		line = shellWord(m.command)
		for _, arg := range m.args {
			line += " " + shellWord(arg)
		}
	case v.URL != "":
		line = m.url
	}
	values := make([]string, 0, len(s.values))
	for value := range s.values {
		values = append(values, value)
	}
	line = NewRedactor(values...).Redact(line)
	if utf8.RuneCountInString(line) > maxDescribe {
		line = string([]rune(line)[:maxDescribe-1]) + "…"
	}
	return line
}

// shellWord quotes a word if it needs it, for people to read.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'\\$`|&;<>()", r) }) {
		return s
	}
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return "'" + strings.ReplaceAll(clean, "'", `'\''`) + "'"
}
