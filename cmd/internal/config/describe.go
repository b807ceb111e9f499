package config

import (
	"strings"
	"unicode/utf8"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/secret"
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
	d.env = func(string) (string, bool) { return secret.Hidden, true }
	d.out = &Config{}
	return maskedServer{
		command: secret.HideText(f.text("command")), url: secret.HideText(f.text("url", "serverUrl", "httpUrl")),
		dir: f.text("cwd"), args: secret.HideArguments(f.texts("args")),
	}
}

// describe returns one line about how a server is reached.
func (c *Config) describe(s *Server) string {
	line := "builtin " + s.Builtin
	switch {
	case s.Command != "":
		line = shellWord(s.masked.command)
		for _, arg := range s.masked.args {
			line += " " + shellWord(arg)
		}
	case s.URL != "":
		line = s.masked.url
	}
	line = c.Redactor().Redact(line)
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
