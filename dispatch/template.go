package dispatch

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
)

// expression is one `{…}` of a URI template (RFC 6570, level 3 without lists).
var expression = regexp.MustCompile(`\{([+#./;?&]?)([^{}]*)\}`)

// matchesTemplate reports whether uri is one that the URI template describes.
func matchesTemplate(template, uri string) bool {
	if template == uri {
		return true
	}
	var re strings.Builder
	re.WriteString(`\A`)
	at := 0
	for _, m := range expression.FindAllStringSubmatchIndex(template, -1) {
		re.WriteString(regexp.QuoteMeta(template[at:m[0]]))
		switch template[m[2]:m[3]] {
		case "?", "&":
			re.WriteString(`.*`)
		case "+", "#", "/":
			re.WriteString(`.+`)
		default:
			re.WriteString(`[^/?#]+`)
		}
		at = m[1]
	}
	re.WriteString(regexp.QuoteMeta(template[at:]) + `\z`)
	ok, err := regexp.MatchString(re.String(), uri)
	return err == nil && ok
}

// expandTemplate puts arguments into a URI template; a variable without a value vanishes.
func expandTemplate(template string, args json.RawMessage) string {
	obj, err := arguments.ParseObject(args)
	if err != nil {
		obj = nil
	}
	return expression.ReplaceAllStringFunc(template, func(e string) string {
		m := expression.FindStringSubmatch(e)
		op, sep := m[1], ","
		switch op {
		case "/", ".", ";":
			sep = op
		case "?", "&":
			sep = "&"
		}
		var parts []string
		for name := range strings.SplitSeq(m[2], ",") {
			name, _, _ = strings.Cut(strings.TrimSuffix(name, "*"), ":")
			if v, ok := variable(obj, name, op); ok {
				parts = append(parts, v)
			}
		}
		if len(parts) == 0 {
			return ""
		}
		if op == "+" {
			op = ""
		}
		return op + strings.Join(parts, sep)
	})
}

// variable returns the text a variable expands to.
func variable(obj arguments.Object, name, op string) (string, bool) {
	raw, ok := obj.Get(name)
	if !ok || string(raw) == "null" {
		return "", false
	}
	var v string
	if json.Unmarshal(raw, &v) != nil {
		v = string(raw)
	}
	if op != "+" && op != "#" {
		v = url.PathEscape(v)
	}
	switch op {
	case "?", "&", ";":
		return name + "=" + v, true
	}
	return v, true
}
