package transparent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// row is one entry of a list under the name that agents see: its name, URI or URI template.
type row struct {
	entry *catalog.Entry
	shown string
	raw   json.RawMessage // instead of an entry
}

// list is one list of a table. It is immutable and safe for concurrent use.
type list struct {
	rows    []row
	byShown map[string]int

	once sync.Once
	text []byte            // all rows, joined with commas
	ends []int             // where each row ends in text
	raws []json.RawMessage // the rows, parts of text
}

// render writes the rows once, when somebody asks for them.
func (l *list) render() *list {
	l.once.Do(func() {
		for i, r := range l.rows {
			if i > 0 {
				l.text = append(l.text, ',')
			}
			if r.raw == nil {
				r.raw = shownEntry(r.entry, r.shown)
			}
			l.text = append(l.text, r.raw...)
			l.ends = append(l.ends, len(l.text))
		}
		l.raws = make([]json.RawMessage, len(l.ends))
		for i := range l.ends {
			l.raws[i] = l.joined(i, i+1)
		}
	})
	return l
}

// joined returns the rows from up to to, with commas between them. They must be rendered.
func (l *list) joined(from, to int) []byte {
	if from >= to {
		return nil
	}
	begin := 0
	if from > 0 {
		begin = l.ends[from-1] + 1
	}
	return l.text[begin:l.ends[to-1]:l.ends[to-1]]
}

// entry returns the entry that is shown under a name, nil if none is.
func (l *list) entry(shown string) *catalog.Entry {
	if i, ok := l.byShown[shown]; ok {
		return l.rows[i].entry
	}
	return nil
}

// same reports whether two lists show the same.
func (l *list) same(other *list) bool {
	return slices.EqualFunc(l.rows, other.rows, func(a, b row) bool {
		return a.shown == b.shown && (a.entry == b.entry || a.entry != nil && b.entry != nil && a.entry.Ref == b.entry.Ref && bytes.Equal(a.entry.Raw, b.entry.Raw))
	})
}

// table is what is shown of one view, and how shown names lead back. It is immutable and safe for concurrent use.
type table struct {
	view                                 *view.View
	plain                                bool
	tools, prompts, resources, templates *list
	// clashes says which entries are not shown under the name their naming would give them.
	clashes []string
}

// newTable names everything that is seen in a view. Names are given in configuration order: of two that clash, the
// later one gives way.
func newTable(v *view.View, plain bool) *table {
	t := &table{view: v, plain: plain}
	var fixed, templates []*catalog.Entry
	for _, e := range v.Entries("", catalog.Resource) {
		if e.Template {
			templates = append(templates, e)
		} else {
			fixed = append(fixed, e)
		}
	}
	t.tools, t.prompts = t.list(v.Entries("", catalog.Tool)), t.list(v.Entries("", catalog.Prompt))
	t.resources, t.templates = t.list(fixed), t.list(templates)
	return t
}

func (t *table) list(entries []*catalog.Entry) *list {
	l := &list{rows: make([]row, 0, len(entries)), byShown: make(map[string]int, len(entries))}
	for _, e := range entries {
		shown := ""
		for round := 0; shown == ""; round++ {
			name := t.name(e, round)
			if at, taken := l.byShown[name]; !taken {
				shown = name
			} else if round == 0 {
				t.clashes = append(t.clashes, fmt.Sprintf("%s %s is not shown as %s: %s has it", e.Kind, e.Ref, name, l.rows[at].entry.Server))
			}
		}
		l.byShown[shown] = len(l.rows)
		l.rows = append(l.rows, row{entry: e, shown: shown})
	}
	return l
}

// name is the name that an entry would be shown under: the next choice each round, until one is free.
func (t *table) name(e *catalog.Entry, round int) string {
	if t.plain {
		if round == 0 {
			return e.Name
		}
		round--
	}
	if e.Kind != catalog.Resource {
		if round == 0 {
			return prefixed(e.Server, e.Name)
		}
		return hashed(e.Server, e.Name, round)
	}
	shown := resourceURI(e.Server, e.Name)
	if e.Template {
		shown = templateURI(e.Server, e.Name)
	}
	if round > 0 { // only a proxy behind us hands out such URIs
		shown += "#" + strconv.Itoa(round)
	}
	return shown
}

// uri is the URI under which agents read a server's resource, listed or not.
func (t *table) uri(server, own string) string {
	if !t.plain {
		return resourceURI(server, own)
	}
	if e := t.resources.entry(own); e != nil && e.Server == server || e == nil && t.onlyReader() == server {
		return own
	}
	return resourceURI(server, own)
}

// own gives the server and its own URI of one that agents read; false if that can't be told from the URI.
func (t *table) own(shown string) (server, uri string, ok bool) {
	if e := t.resources.entry(shown); e != nil {
		return e.Server, e.Name, true
	}
	if server, uri, ok := ownURI(shown); ok && t.view.Snapshot.Server(server) != nil {
		return server, uri, true
	}
	return "", "", false
}

// onlyReader is the one server that has resources, "" if there are none or several: what is in no list can only be its.
func (t *table) onlyReader() string {
	only := ""
	for _, s := range t.view.Snapshot.Servers {
		if rawjson.Member(s.Capabilities, "resources") == nil {
			continue
		}
		if only != "" {
			return ""
		}
		only = s.Name
	}
	return only
}
