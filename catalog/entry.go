package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/catalog/clean"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Limits of the texts kept decoded beside an entry's Raw, in bytes. Longer ones are cut and end with "…"; Raw keeps
// them whole.
const (
	maxTitle       = 1 << 10
	maxDescription = 32 << 10
	maxName        = 16 << 10 // an entry with a longer name is left out and reported
)

// Entry is one thing a server offers. It is immutable once it stands in a Snapshot and safe for concurrent use; it must
// not be copied.
type Entry struct {
	Ref
	// Title and Description are cleaned for reading (see Clean). A resource without a title has its name as Title.
	Title, Description string
	// Raw is the whole entry exactly as the server sent it.
	Raw json.RawMessage
	// InputSchema, OutputSchema and Annotations are parts of Raw, nil if absent or null. For prompts and templates
	// InputSchema is made here: from the prompt's arguments or the template's variables, all of them strings.
	InputSchema, OutputSchema, Annotations json.RawMessage
	MimeType                               string
	// Template marks a resource template: Name is a URI template.
	Template bool
	// ReadOnly, Destructive, Idempotent and OpenWorld are the server's hints, nil where it says nothing.
	ReadOnly, Destructive, Idempotent, OpenWorld *bool

	signed    sync.Once
	signature string
}

var (
	errNoObject = errors.New("is not an object")
	errNoName   = errors.New("has no name")
	errLongName = fmt.Errorf("has a name over %d bytes", maxName)
)

// NewEntry reads one element of a list result. The entry keeps parts of raw, which must not change afterwards.
// It fails when raw is no JSON object or has no usable name (for resources: URI).
func NewEntry(server string, kind Kind, template bool, raw json.RawMessage) (*Entry, error) {
	if !rawjson.Valid(raw) {
		return nil, errors.New("read entry: is not valid JSON")
	}
	e, err := readEntry(list{kind: kind, template: template}, server, raw)
	if err != nil {
		return nil, fmt.Errorf("read entry: %w", err)
	}
	return e, nil
}

// readEntry is NewEntry for JSON known to be valid.
func readEntry(l list, server string, raw json.RawMessage) (*Entry, error) {
	if i := rawjson.Space(raw, 0); i >= len(raw) || raw[i] != '{' {
		return nil, errNoObject
	}
	e := &Entry{Ref: Ref{Server: server, Kind: l.kind}, Template: l.template, Raw: raw}
	var name, uri string
	var arguments json.RawMessage
	for key, v := range rawjson.Members(raw) {
		switch key {
		case "name":
			name = rawjson.Unquote(v)
		case "uri", "uriTemplate":
			if (key == "uriTemplate") == l.template {
				uri = rawjson.Unquote(v)
			}
		case "title":
			e.Title = shown(v, maxTitle)
		case "description":
			e.Description = shown(v, maxDescription)
		case "mimeType":
			e.MimeType = shown(v, maxTitle)
		case "inputSchema":
			e.InputSchema = present(v)
		case "outputSchema":
			e.OutputSchema = present(v)
		case "annotations":
			e.Annotations = present(v)
		case "arguments":
			arguments = v
		}
	}
	e.Name = name
	switch l.kind {
	case Resource:
		if e.Name = uri; e.Title == "" {
			e.Title = clean.Clip(clean.Text(name), maxTitle)
		}
		e.InputSchema = nil
		if l.template {
			e.InputSchema = templateSchema(uri)
		}
	case Prompt:
		e.InputSchema = promptSchema(arguments)
	}
	if e.Name == "" {
		return nil, errNoName
	}
	if len(e.Name) > maxName {
		return nil, errLongName
	}
	e.readHints()
	return e, nil
}

func (e *Entry) readHints() {
	for key, v := range rawjson.Members(e.Annotations) {
		switch key {
		case "readOnlyHint":
			e.ReadOnly = truth(v)
		case "destructiveHint":
			e.Destructive = truth(v)
		case "idempotentHint":
			e.Idempotent = truth(v)
		case "openWorldHint":
			e.OpenWorld = truth(v)
		case "title":
			if e.Title == "" {
				e.Title = shown(v, maxTitle)
			}
		}
	}
}

// shown decodes a JSON string for reading: cleaned and cut.
func shown(raw []byte, max int) string { return clean.Clip(clean.Text(rawjson.Unquote(raw)), max) }

// present returns v, or nil for null.
func present(v json.RawMessage) json.RawMessage {
	if string(v) == "null" {
		return nil
	}
	return v
}

func truth(v []byte) *bool {
	switch string(v) {
	case "true":
		return new(true)
	case "false":
		return new(false)
	}
	return nil
}

// param is one property of a schema made here.
type param struct {
	name, title, description string
	required                 bool
}

// promptSchema says a prompt's arguments as a JSON Schema: an object of strings.
func promptSchema(arguments json.RawMessage) json.RawMessage {
	var params []param
	for a := range rawjson.Elements(arguments) {
		var p param
		for key, v := range rawjson.Members(a) {
			switch key {
			case "name":
				p.name = rawjson.Unquote(v)
			case "title":
				p.title = shown(v, maxTitle)
			case "description":
				p.description = shown(v, maxDescription)
			case "required":
				p.required = string(v) == "true"
			}
		}
		params = append(params, p)
	}
	return stringsSchema(params)
}

// templateSchema says the variables of a URI template (RFC 6570) as a JSON Schema. Those of a query part are optional.
func templateSchema(uri string) json.RawMessage {
	var params []param
	for {
		_, rest, ok := strings.Cut(uri, "{")
		if !ok {
			return stringsSchema(params)
		}
		expression, after, ok := strings.Cut(rest, "}")
		if !ok {
			return stringsSchema(params)
		}
		uri = after
		query := strings.HasPrefix(expression, "?") || strings.HasPrefix(expression, "&")
		for name := range strings.SplitSeq(strings.TrimLeft(expression, "+#./;?&=,!@|"), ",") {
			name, _, _ = strings.Cut(name, ":")
			params = append(params, param{name: strings.TrimSuffix(name, "*"), required: !query})
		}
	}
}

// stringsSchema writes an object schema whose properties are all strings. Nameless and repeated ones are left out.
func stringsSchema(params []param) json.RawMessage {
	var properties, required strings.Builder
	seen := map[string]bool{"": true}
	for _, p := range params {
		if seen[p.name] {
			continue
		}
		if seen[p.name] = true; properties.Len() > 0 {
			properties.WriteByte(',')
		}
		fmt.Fprintf(&properties, `%s:{"type":"string"`, rawjson.Quote(p.name))
		if p.title != "" {
			fmt.Fprintf(&properties, `,"title":%s`, rawjson.Quote(p.title))
		}
		if p.description != "" {
			fmt.Fprintf(&properties, `,"description":%s`, rawjson.Quote(p.description))
		}
		properties.WriteByte('}')
		if p.required {
			if required.Len() > 0 {
				required.WriteByte(',')
			}
			required.Write(rawjson.Quote(p.name))
		}
	}
	s := `{"type":"object","properties":{` + properties.String() + `}`
	if required.Len() > 0 {
		s += `,"required":[` + required.String() + `]`
	}
	return clean.JSON(json.RawMessage(s + "}"))
}
