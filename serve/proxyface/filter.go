package proxyface

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// filter narrows a list; what it names must all hold. The zero filter lets everything through.
type filter struct {
	named  string   // filter_server: a server's prefix, or the beginning of one
	prefix string   // the beginning of a name or URI
	tags   []string // at least one of them
	server string   // a connection, by name or alias
}

var filterKeys = []string{"prefix", "tags", "server"}

func (f *filter) read(v json.RawMessage) error {
	if v[0] != '{' {
		return bad("parameter 'filter' must be an object")
	}
	obj, err := readObject(v)
	if err != nil {
		return bad("parameter 'filter': %v", err)
	}
	for _, m := range obj {
		switch m.Key {
		case "prefix":
			f.prefix, err = readText("filter.prefix", m.Value)
		case "server":
			f.server, err = readText("filter.server", m.Value)
		case "tags":
			f.tags, err = readTags(m.Value)
		default:
			err = refuse(fmt.Sprintf("parameter 'filter' has no member %q", clip(m.Key, 60)), m.Key, filterKeys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readTags(v json.RawMessage) ([]string, error) {
	tags := []string{}
	for t := range rawjson.Elements(v) {
		if t[0] != '"' {
			return nil, bad("parameter 'filter.tags' must be a list of strings")
		}
		tags = append(tags, rawjson.Unquote(t))
	}
	if v[0] != '[' {
		return nil, bad("parameter 'filter.tags' must be a list of strings")
	}
	return tags, nil
}

// passes reports whether an offer is wanted. An offer that is our own tool belongs to no server.
func (f *filter) passes(o *offer) bool {
	return (f.named == "" || o.has(f.named)) && (f.prefix == "" || strings.HasPrefix(o.name, f.prefix) || strings.HasPrefix(o.full, f.prefix)) &&
		(f.server == "" || o.server != nil && (o.server.Name == f.server || o.server.Alias == f.server)) &&
		(len(f.tags) == 0 || slices.ContainsFunc(tagsOf(o), func(t string) bool { return slices.Contains(f.tags, t) }))
}

// has reports whether an offer's full name begins so, whatever stands for its server in front.
func (o *offer) has(prefix string) bool {
	if strings.HasPrefix(o.full, prefix) {
		return true
	}
	return o.server != nil && strings.HasPrefix(o.server.Name+defaultSeparator+o.own(), prefix)
}

// tagsOf are the tags of an offer, wherever servers write them: the protocol has no place of its own for them.
func tagsOf(o *offer) []string {
	if o.entry == nil {
		return nil
	}
	var tags []string
	add := func(raw json.RawMessage) {
		for t := range rawjson.Elements(rawjson.Member(raw, "tags")) {
			tags = append(tags, rawjson.Unquote(t))
		}
	}
	meta := rawjson.Member(o.entry.Raw, "_meta")
	add(o.entry.Raw)
	add(o.entry.Annotations)
	add(meta)
	for _, of := range []string{"fastmcp", "_fastmcp"} {
		add(rawjson.Member(meta, of))
	}
	return tags
}

// own is the server's own name of an offer.
func (o *offer) own() string {
	if o.entry == nil {
		return o.name
	}
	return ownName(o.entry)
}

// ownName is what an entry is called beside its URI.
func ownName(e *catalog.Entry) string {
	if e.Kind != catalog.Resource {
		return e.Name
	}
	return rawjson.Unquote(rawjson.Member(e.Raw, "name"))
}
