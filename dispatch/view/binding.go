package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Binding makes a server's arguments of those for a seen tool. It is immutable and safe for concurrent use.
type Binding struct {
	own      map[string]string // the server's name by the one an agent sees
	taken    []string          // server's names that an agent can't write to
	values   []boundValue      // sent whatever the agent says
	defaults []boundValue      // sent where the agent says nothing
}

type boundValue struct {
	name  string
	value json.RawMessage
}

// newBinding returns nil where arguments stay as they are.
func newBinding(rules []Parameter) (*Binding, error) {
	b := &Binding{own: map[string]string{}}
	shown := map[string]bool{}
	for _, r := range rules {
		if !r.hidden() {
			if shown[r.shownAs()] {
				return nil, fmt.Errorf("two parameters would be called %q", r.shownAs())
			}
			shown[r.shownAs()] = true
		}
		switch {
		case r.hidden():
			b.taken = append(b.taken, r.Match)
		case r.shownAs() != r.Match:
			b.own[r.Rename] = r.Match
			b.taken = append(b.taken, r.Match)
		}
		if r.Value != nil {
			b.values = append(b.values, boundValue{r.Match, r.Value})
		} else if r.Default != nil {
			b.defaults = append(b.defaults, boundValue{r.Match, r.Default})
		}
	}
	if len(b.own)+len(b.taken)+len(b.defaults) == 0 {
		return nil, nil
	}
	return b, nil
}

// Apply returns the server's arguments for those of an agent, a JSON object. What an agent sends for a parameter that it
// does not see is dropped, in any case of its letters: to the agent it is a parameter like any other that is not there.
func (b *Binding) Apply(args json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	out.WriteByte('{')
	sent := map[string]bool{}
	rawjson.Object(args, func(written, value []byte) {
		key := rawjson.Unquote(written)
		own, renamed := b.own[key]
		switch {
		case renamed:
			written, key = rawjson.Quote(own), own
		case b.takes(key):
			return
		}
		sent[key] = true
		putMember(&out, written, value)
	})
	for _, d := range b.defaults {
		if !sent[d.name] {
			putMember(&out, rawjson.Quote(d.name), d.value)
		}
	}
	for _, v := range b.values {
		putMember(&out, rawjson.Quote(v.name), v.value)
	}
	out.WriteByte('}')
	return out.Bytes()
}

func (b *Binding) takes(key string) bool {
	for _, t := range b.taken {
		if strings.EqualFold(t, key) {
			return true
		}
	}
	return false
}
