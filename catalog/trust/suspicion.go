package trust

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/catalog/clean"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Suspicion is something in what a server says that a person should look at.
type Suspicion struct {
	Ref  catalog.Ref
	What string
}

// commands are ways to speak to the model rather than to describe a tool.
var commands = []struct {
	what string
	like *regexp.Regexp
}{
	{"tells the model to disregard its instructions", regexp.MustCompile(`(?i)\b(ignore|disregard|forget|override)\b.{0,40}\b(previous|prior|above|earlier|all|any|other|system)\b.{0,40}\b(instruction|rule|prompt|message|direction|guideline)s?`)},
	{"tells the model to keep something from the person", regexp.MustCompile(`(?i)\b(do not|don't|never|without)\b.{0,30}\b(tell|telling|inform|informing|mention|mentioning|notify|notifying|reveal|revealing|show|showing|alert|alerting)\b.{0,30}\b(user|human|person|them)\b`)},
	{"tells the model what to do before it uses other tools", regexp.MustCompile(`(?i)\b(before|instead of|prior to|when) (using|calling|you use|you call)\b.{0,30}\b(any|other|another|every|all)\b.{0,20}\btools?\b`)},
	{"asks for secrets or for the conversation", regexp.MustCompile(`(?i)\b(include|send|pass|append|attach|read|provide|put)\b.{0,60}(\bsystem prompt\b|\bconversation history\b|\bfull conversation\b|\bapi[ _-]?keys?\b|\bprivate key\b|\bpasswords?\b|~/\.ssh|\bid_rsa\b|\.env\b|\bcredentials\b|mcp\.json)`)},
	{"holds marks of a prompt", regexp.MustCompile(`(?i)<\s*/?\s*(important|system|instructions?|secret|hidden|admin)\s*>|\[\s*(system|inst)\s*\]|<\|(im_start|im_end|system|endoftext)\|>`)},
	{"holds a long run of encoded text", regexp.MustCompile(`[A-Za-z0-9+/]{200,}={0,2}`)},
}

// Suspect looks at everything servers say for what should not be there: hidden characters, words to the model, names that
// look like another server's. It judges by patterns, so it can be wrong both ways.
func Suspect(s *catalog.Snapshot) []Suspicion {
	var all []Suspicion
	names := map[string]catalog.Ref{} // by what a name looks like
	for _, srv := range s.Servers {
		add := func(ref catalog.Ref, format string, args ...any) {
			all = append(all, Suspicion{ref, fmt.Sprintf(format, args...)})
		}
		for _, what := range speaksToModel(srv.Instructions) {
			add(catalog.Ref{Server: srv.Name}, "its instructions: %s", what)
		}
		for _, e := range srv.Entries {
			if what := hiddenIn(e.Raw); what != "" {
				add(e.Ref, "%s", what)
			}
			for _, what := range speaksToModel(rawjson.Unquote(rawjson.Member(e.Raw, "description")) + "\n" + string(e.InputSchema)) {
				add(e.Ref, "%s", what)
			}
			if e.Kind != catalog.Tool {
				continue
			}
			look := skeleton(e.Name)
			if other, taken := names[look]; taken && other.Server != e.Server && other.Name != e.Name {
				add(e.Ref, "its name looks like %s", other)
			} else if !taken {
				names[look] = e.Ref
			}
			if mixes(e.Name) {
				add(e.Ref, "its name mixes letters of different scripts")
			}
		}
	}
	return all
}

func speaksToModel(text string) (found []string) {
	text = strings.Join(strings.Fields(clean.Text(text)), " ")
	for _, c := range commands {
		if hit := c.like.FindString(text); hit != "" {
			found = append(found, fmt.Sprintf("%s: %q", c.what, clean.Clip(hit, 100)))
		}
	}
	return found
}

// hiddenIn tells how many characters in the texts of an entry a person would not see.
func hiddenIn(raw []byte) string {
	n := 0
	d := json.NewDecoder(bytes.NewReader(raw))
	for {
		token, err := d.Token()
		if err != nil {
			break
		}
		text, _ := token.(string)
		if clean.Text(text) == text {
			continue
		}
		for _, r := range text {
			if r != '\r' && r != '\uFFFD' && clean.Text(string(r)) != string(r) {
				n++
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("holds %d hidden characters, which are taken out", n)
}

// skeleton is what a name looks like: case, separators and letters of other scripts that look alike do not count.
func skeleton(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '-' || r == '.' || r == ' ' || r == '/':
			return -1
		case alike[r] != 0:
			return alike[r]
		}
		return r
	}, strings.ToLower(norm.NFKC.String(name)))
}

// alike are letters and digits that are taken for others.
var alike = map[rune]rune{
	'0': 'o', '1': 'l', 'i': 'l', '|': 'l', '5': 's', 'а': 'a', 'е': 'e', 'о': 'o', 'р': 'p', 'с': 'c', 'у': 'y', 'х': 'x', 'ѕ': 's', 'і': 'l', 'ј': 'j',
	'ԁ': 'd', 'ɡ': 'g', 'һ': 'h', 'к': 'k', 'м': 'm', 'т': 't', 'в': 'b', 'н': 'h', 'ո': 'n', 'ν': 'v', 'ο': 'o', 'α': 'a', 'ρ': 'p', 'τ': 't', 'υ': 'u', 'χ': 'x', 'κ': 'k', 'ι': 'l',
}

// mixes says if a name has Latin letters beside Cyrillic or Greek ones.
func mixes(name string) bool {
	latin := strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(unicode.Latin, r) })
	return latin && strings.ContainsFunc(name, func(r rune) bool { return unicode.In(r, unicode.Cyrillic, unicode.Greek) })
}
