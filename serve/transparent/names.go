package transparent

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

const (
	separator  = "__"
	maxName    = 64 // characters of a prefixed name
	hashDigits = 6
	// resourceBase begins the URI of one server's resource, templateBase that of a template, whose variables must stay
	// legible: PROXY://TEMPLATE/SERVER/ and then the template as it is.
	resourceBase = "proxy://resource/"
	templateBase = "proxy://template/"
)

// prefixed is the name under which agents see a server's tool or prompt.
func prefixed(server, name string) string {
	if full := server + separator + name; utf8.RuneCountInString(full) <= maxName {
		return full
	}
	return hashed(server, name, 0)
}

// hashed is a name cut to its limit and ended by a hash of the whole, another one each round.
func hashed(server, name string, round int) string {
	full := server + separator + name
	sum := sha256.Sum256([]byte(full + strings.Repeat(" ", round)))
	if long := []rune(full); len(long) >= maxName-hashDigits {
		full = string(long[:maxName-hashDigits-1])
	}
	return full + "_" + hex.EncodeToString(sum[:hashDigits/2])
}

// resourceURI is the URI under which agents see a server's resource.
func resourceURI(server, uri string) string {
	inner := `{"server":` + string(rawjson.Quote(server)) + `,"uri":` + string(rawjson.Quote(uri)) + `}`
	return resourceBase + base64.RawURLEncoding.EncodeToString([]byte(inner))
}

// templateURI is the URI template under which agents see a server's template.
func templateURI(server, template string) string {
	return templateBase + url.PathEscape(server) + "/" + template
}

// ownURI gives back the server and its own URI (or URI template) of one that resourceURI or templateURI made; agents
// may have expanded the template since.
func ownURI(shown string) (server, uri string, ok bool) {
	if rest, found := strings.CutPrefix(shown, templateBase); found {
		escaped, uri, found := strings.Cut(rest, "/")
		server, err := url.PathUnescape(escaped)
		return server, uri, found && err == nil && server != "" && uri != ""
	}
	rest, found := strings.CutPrefix(shown, resourceBase)
	if !found {
		return "", "", false
	}
	inner, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(rest, "="))
	if err != nil {
		return "", "", false
	}
	var named struct{ Server, URI string }
	if json.Unmarshal(inner, &named) != nil {
		return "", "", false
	}
	return named.Server, named.URI, named.Server != "" && named.URI != ""
}

// taskID is the id under which agents see a server's task, or another token of a server's that comes back.
func taskID(server, id string) string { return server + "::" + id }

// ownTask gives back the server and its own id of a task. Of several servers whose names fit, the longest is meant.
func ownTask(shown string, servers []string) (server, id string, ok bool) {
	for _, s := range servers {
		if rest, found := strings.CutPrefix(shown, s+"::"); found && rest != "" && len(s) > len(server) {
			server, id, ok = s, rest, true
		}
	}
	return server, id, ok
}
