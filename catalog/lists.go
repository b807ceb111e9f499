package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/catalog/clean"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// list is one of the lists a server may offer.
type list struct {
	method, capability, key string
	kind                    Kind
	template                bool
}

var lists = []list{
	{method: "tools/list", capability: "tools", key: "tools", kind: Tool},
	{method: "resources/list", capability: "resources", key: "resources", kind: Resource},
	{method: "resources/templates/list", capability: "resources", key: "resourceTemplates", kind: Resource, template: true},
	{method: "prompts/list", capability: "prompts", key: "prompts", kind: Prompt},
}

// wanted returns the lists to ask a server for, by the capabilities it declared. A server that sent no capabilities at
// all is asked for tools: some of the oldest forget to declare them.
func wanted(capabilities json.RawMessage) []list {
	if capabilities == nil {
		return lists[:1]
	}
	declared := map[string]bool{}
	for key, v := range rawjson.Members(capabilities) {
		declared[key] = string(v) != "null" && string(v) != "false"
	}
	var want []list
	for _, l := range lists {
		if declared[l.capability] {
			want = append(want, l)
		}
	}
	return want
}

// page is one answer to a list request; items are parts of its bytes.
type page struct {
	items []json.RawMessage
	next  string        // cursor of the next page, "" at the last
	fresh time.Duration // as the server says; zero if it does not
}

// readPage takes a raw list result apart. A null list counts as an empty one; an absent one is an error, for it would
// make half a catalog look whole.
func readPage(l list, raw json.RawMessage) (page, error) {
	if !rawjson.Valid(raw) {
		return page{}, errors.New("result is not valid JSON")
	}
	var p page
	var found bool
	for key, v := range rawjson.Members(raw) {
		switch key {
		case l.key:
			if v[0] != '[' && string(v) != "null" {
				return page{}, fmt.Errorf("%q in the result is not a list", l.key)
			}
			found, p.items = true, nil
			for item := range rawjson.Elements(v) {
				p.items = append(p.items, item)
			}
		case "ttlMs":
			p.fresh = freshness(v)
		case "nextCursor":
			p.next = rawjson.Unquote(v)
		}
	}
	if !found {
		return page{}, fmt.Errorf("no %q in the result", l.key)
	}
	return p, nil
}

// maxReports bounds how many left-out entries of a server are named; the rest is counted.
const maxReports = 20

// collector gathers the entries of one server from its pages and remembers what it left out.
type collector struct {
	server  string
	entries []*Entry
	seen    map[entryKey]bool
	skipped []string
	more    int
}

type entryKey struct {
	kind Kind
	name string
}

func newCollector(server string) *collector {
	return &collector{server: server, seen: map[entryKey]bool{}}
}

// add takes the items of one page and returns how many of them were new.
func (c *collector) add(l list, items []json.RawMessage) int {
	before := len(c.entries)
	for i, item := range items {
		e, err := readEntry(l, c.server, item)
		if err != nil {
			c.report(fmt.Sprintf("%s: entry %d of the page %v", l.method, i+1, err))
			continue
		}
		key := entryKey{e.Kind, e.Name}
		if c.seen[key] {
			c.report(fmt.Sprintf("%s: %s stands twice, the first is kept", l.method, clean.Clip(string(clean.JSON(rawjson.Quote(e.Name))), 200)))
			continue
		}
		c.seen[key] = true
		c.entries = append(c.entries, e)
	}
	return len(c.entries) - before
}

func (c *collector) report(what string) {
	if len(c.skipped) < maxReports {
		c.skipped = append(c.skipped, what)
		return
	}
	c.more++
}

// reports returns what was left out, in words; nil if nothing.
func (c *collector) reports() []string {
	if c.more == 0 {
		return c.skipped
	}
	return append(c.skipped[:maxReports:maxReports], fmt.Sprintf("and %d more", c.more))
}
