package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

// jsonClient is a client's file in JSON, with or without comments.
type jsonClient struct {
	client
	move Move
	root hujson.Value
}

func (j *jsonClient) read() ([]entry, []notation.Fault) {
	data := bytes.TrimPrefix(j.move.File, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}\n")
	}
	n, faults := notation.ParseJSON(data)
	if n == nil || len(faults) > 0 {
		return nil, faults
	}
	root, err := hujson.Parse(data)
	if err != nil {
		return nil, []notation.Fault{{Msg: fmt.Sprintf("not valid JSON: %v", err)}}
	}
	j.root = root
	block := n.Get(j.block)
	if n.Kind != notation.Mapping || block != nil && block.Kind != notation.Mapping {
		return nil, []notation.Fault{{Line: n.Line, Msg: j.block + " must be a mapping of names to servers"}}
	}
	if block == nil {
		return nil, nil
	}
	var out []entry
	object := j.root.Find("/" + j.block).Value.(*hujson.Object)
	for i, m := range block.Members {
		comment := plainComment(string(object.Members[i].Name.BeforeExtra), "/*", "*/", "//", "*")
		out = append(out, entry{m.Key, comment, m.Value})
	}
	return out, nil
}

func (j *jsonClient) without(moving []entry) ([]byte, error) {
	root, ok := j.root.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("write %s: it is not a mapping", j.move.Path)
	}
	var block *hujson.Object
	if v := j.root.Find("/" + j.block); v != nil {
		block = v.Value.(*hujson.Object)
	} else {
		block = j.newBlock(root)
	}
	if len(block.Members) == 0 {
		block.AfterExtra = margin(root)
	}
	place, have := len(block.Members), false
	var kept []hujson.ObjectMember
	var after hujson.Extra
	for _, m := range block.Members {
		name := m.Name.Value.(hujson.Literal).String()
		have = have || name == EntryName
		after = m.Value.AfterExtra
		if slices.ContainsFunc(moving, func(e entry) bool { return e.name == name }) {
			place = min(place, len(kept))
			continue
		}
		kept = append(kept, m)
	}
	if !have {
		kept = slices.Insert(kept, min(place, len(kept)), j.entry(block))
	}
	// What follows the last member says whether a comma does.
	for i := range kept {
		kept[i].Value.AfterExtra = nil
	}
	kept[len(kept)-1].Value.AfterExtra = after
	block.Members = kept
	out := j.root.Pack()
	if _, err := hujson.Parse(out); err != nil {
		return nil, fmt.Errorf("write %s: %w", j.move.Path, err)
	}
	return out, nil
}

// newBlock adds an empty server block at the end of the file's object.
func (j *jsonClient) newBlock(root *hujson.Object) *hujson.Object {
	block := &hujson.Object{}
	before := margin(root)
	if len(root.Members) == 0 {
		root.AfterExtra = hujson.Extra("\n")
	}
	root.Members = append(root.Members, hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: before, Value: hujson.String(j.block)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: block},
	})
	return block
}

// margin is what stands before the names of the file's own keys.
func margin(root *hujson.Object) hujson.Extra {
	if len(root.Members) == 0 {
		return hujson.Extra("\n  ")
	}
	return blank(root.Members[0].Name.BeforeExtra)
}

// entry makes our own entry, indented as its neighbours are.
func (j *jsonClient) entry(block *hujson.Object) hujson.ObjectMember {
	indent, unit := block.AfterExtra, "  "
	if bytes.Contains(indent, []byte("\t")) {
		unit = "\t"
	}
	if len(block.Members) > 0 {
		indent = blank(block.Members[0].Name.BeforeExtra)
	} else if bytes.Contains(indent, []byte("\n")) {
		indent = append(slices.Clone(indent), unit...)
	}
	var lines []string
	if j.typed {
		lines = append(lines, `"type": "stdio"`)
	}
	lines = append(lines, `"command": `+string(jsonText(j.move.Binary)), `"args": ["serve", "--config", `+string(jsonText(j.move.Config))+`]`)
	inner, end := " ", " "
	if i := bytes.LastIndexByte(indent, '\n'); i >= 0 {
		end = string(indent[i:])
		inner = end + unit
	}
	value, err := hujson.Parse([]byte("{" + inner + strings.Join(lines, ","+inner) + end + "}"))
	if err != nil {
		panic(err) // made of quoted strings above
	}
	value.BeforeExtra = hujson.Extra(" ")
	return hujson.ObjectMember{Name: hujson.Value{BeforeExtra: slices.Clone(indent), Value: hujson.String(EntryName)}, Value: value}
}

// blank returns the line break and indentation at the end of extra, without comments.
func blank(extra hujson.Extra) hujson.Extra {
	trimmed := bytes.TrimRight(extra, " \t")
	if len(trimmed) > 0 && trimmed[len(trimmed)-1] == '\n' {
		return hujson.Extra("\n" + string(extra[len(trimmed):]))
	}
	if bytes.ContainsAny(extra, "/") {
		return hujson.Extra(" ")
	}
	return slices.Clone(extra)
}

// jsonText writes a JSON string without the escapes that only HTML needs.
func jsonText(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return bytes.TrimSpace(b.Bytes())
}
