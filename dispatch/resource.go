package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
)

const (
	keptScheme = "spill://"
	// keptTemplate names the parameters of readresult; a part of a result is its fragment: #1, #2, …, #raw.
	keptTemplate = keptScheme + "{id}{?op,path,jq,lines,fromLine,toLine,offset,maxBytes,pattern,context,limit,invert,format}"
)

// IsKept reports whether a URI is that of a kept result.
func IsKept(uri string) bool { return strings.HasPrefix(uri, keptScheme) }

// KeptTemplate is the resources/templates/list entry of kept results, for faces that offer ReadResource.
func KeptTemplate() json.RawMessage {
	return mustJSON(struct {
		URITemplate string `json:"uriTemplate"`
		Name        string `json:"name"`
		Title       string `json:"title"`
		Description string `json:"description"`
	}{keptTemplate, "kept-result", "A kept result",
		"A part of a large result that was kept outside the conversation. op: stat (default), head, tail, slice, bytes, grep, read, shape, sample; path and jq narrow first."})
}

// ReadResource is ReadResult by URI, spill://ID?op=grep&pattern=…, for faces and agents without that action: the same ops,
// budget and owners. It returns a resources/read result; blobs come as such. The error is an *Error.
func (d *Dispatcher) ReadResource(ctx context.Context, a Agent, uri string) (json.RawMessage, error) {
	r, err := keptRequest(uri)
	if err != nil {
		return nil, asError(err)
	}
	ctx, done := d.o.Recorder.Begin(ctx, CallInfo{Agent: a, Action: "readresult"})
	answer, err := d.ReadResult(ctx, a, readRequest(r))
	if err != nil {
		e := r.fail(err)
		done(Outcome{Code: e.Code})
		return nil, e
	}
	raw := answer.contents(uri, r)
	done(Outcome{Bytes: int64(len(raw))})
	return raw, nil
}

// keptRequest reads the URI of a part of a kept result as the input of readresult.
func keptRequest(uri string) (*request, error) {
	rest, ok := strings.CutPrefix(uri, keptScheme)
	if !ok {
		return nil, &Error{Code: NotFound, Message: fmt.Sprintf("%q is no kept result", clip(uri, 80)), Do: "Its URI is " + keptTemplate}
	}
	name, query, _ := strings.Cut(rest, "?")
	name, part, _ := strings.Cut(name, "#")
	query, after, _ := strings.Cut(query, "#")
	if part == "" {
		part = after
	}
	if part != "" {
		name += "#" + part
	}
	obj, err := keptParameters(query)
	if err != nil {
		return nil, err
	}
	r := &request{Action: "readresult"}
	return r, r.fill("readresult", append(obj, arguments.Member{Key: "resultFile", Value: mustJSON([]string{keptScheme + name})}))
}

// keptParameters reads a query; numbers and truth values get their JSON form.
func keptParameters(query string) (arguments.Object, error) {
	bad := func(format string, args ...any) (arguments.Object, error) {
		return nil, &Error{Code: BadRequest, Message: fmt.Sprintf(format, args...), Do: "The URI is " + keptTemplate}
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return bad("the query of the URI can't be read: %v", err)
	}
	var obj arguments.Object
	for key, list := range values {
		v := mustJSON(list[0])
		switch {
		case len(list) > 1:
			return bad("%s is given %d times", clip(key, 40), len(list))
		case key == "action", key == "connection", paramSpellings[key] == "resultFile", key == "resultFile", key == "resultToFile":
			return bad("a kept result has no parameter %q", key)
		case spellings[key] == boolean && list[0] == "": // ?invert
			v = []byte("true")
		case spellings[key] == number && isWhole(list[0]), spellings[key] == boolean:
			v = json.RawMessage(list[0])
		}
		if !json.Valid(v) {
			return bad("%s is %q, want %s", key, clip(list[0], 40), wanted[spellings[key]])
		}
		obj = append(obj, arguments.Member{Key: key, Value: v})
	}
	return obj, nil
}

func isWhole(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}

// contents is the resources/read result of what was read.
func (a *ReadAnswer) contents(uri string, r *request) json.RawMessage {
	type content struct {
		URI      string `json:"uri"`
		MimeType string `json:"mimeType"`
		Text     string `json:"text,omitempty"`
		Blob     string `json:"blob,omitempty"`
		Meta     any    `json:"_meta,omitempty"`
	}
	c := content{URI: uri, MimeType: "text/plain"}
	switch {
	case a.Block != nil:
		var block struct{ Data, MimeType string }
		_ = json.Unmarshal(a.Block, &block) // we wrote it
		c.Blob, c.MimeType = block.Data, block.MimeType
	case a.Base64:
		c.Blob, c.MimeType = a.Text, "application/octet-stream"
		if a.NextOffset > 0 {
			c.Meta = map[string]any{metaKey: map[string]int64{"nextOffset": a.NextOffset, "byteSize": a.ByteSize}}
		}
	case r.wantsJSON():
		a.Repairs, a.Content = r.notes, append(a.Content, textBlock(a.Text))
		c.Text, c.MimeType = string(mustJSON(a)), "application/json"
	default:
		c.Text = withRepairs(r.notes, a.body())
		if len(r.reads) == 0 {
			base, _, _ := strings.Cut(uri, "?")
			c.Text += "\nread on: " + base + "?op=head&lines=50"
		}
	}
	return mustJSON(struct {
		Contents []content `json:"contents"`
	}{[]content{c}})
}
