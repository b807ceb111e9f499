package dispatch

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// keptURI keeps what a call gives and returns its URI.
func keptURI(t *testing.T, d *Dispatcher, a Agent, in string) string {
	t.Helper()
	raw := d.Handle(t.Context(), Input{Agent: a, Arguments: json.RawMessage(in)}).Raw()
	handle := gjson.GetBytes(raw, `_meta.proxy-dispatch.handle`).String()
	art, _, err := d.o.Shelf.Find(t.Context(), owner(a), handle)
	if err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return art.URI()
}

func TestReadResource(t *testing.T) {
	d, _ := newHouse(t, nil)
	rows := keptURI(t, d, testAgent, `{"action":"call","tool":"rows","arguments":{"n":500}}`)
	picture := keptURI(t, d, testAgent, `{"action":"call","tool":"picture","arguments":{"n":40},"resultToFile":true}`)
	for _, tc := range []struct {
		name, uri string
		want      []string
		mime      string
		code      Code // empty: no error
	}{
		{name: "stat", uri: rows, want: []string{"records", "500 rows", "from: main/rows", "read on: " + rows + "?op=head"}},
		{name: "grep", uri: rows + "?op=grep&pattern=row%20499", want: []string{"1 matches", `500: {"id":499`}},
		{name: "op named by a parameter", uri: rows + "?pattern=row+7%22&context=0", want: []string{"1 matches"}},
		{name: "slice", uri: rows + "?op=slice&fromLine=3&toLine=3", want: []string{`{"id":2,"name":"row 2","amount":2.50}`}},
		{name: "tail", uri: rows + "?op=tail&lines=1", want: []string{`{"id":499`}},
		{name: "bytes", uri: rows + "?op=bytes&offset=1&maxBytes=6", want: []string{"{\"id\":"}},
		{name: "path and jq", uri: rows + "?path=%23.id&jq=add", want: []string{"124750"}},
		{name: "csv", uri: rows + "?op=read&jq=.%5B0:2%5D&format=csv", want: []string{"id,name,amount\n0,row 0,0.50"}},
		{name: "invert", uri: rows + "?op=grep&pattern=row&invert", want: []string{"0 matches"}},
		{name: "shape", uri: rows + "?op=shape", want: []string{"amount"}},
		{name: "sample", uri: rows + "?op=sample&lines=2", want: []string{"row"}},
		{name: "as JSON", uri: rows + "?op=head&lines=1&format=json", want: []string{`"totalLines":500`}, mime: "application/json"},
		{name: "the whole is bounded", uri: rows + "?op=read&format=json", want: []string{`"truncated":true`}, mime: "application/json"},
		{name: "a part", uri: rows + "?op=head#raw", want: []string{`"content"`}},
		{name: "a part, before the query", uri: rows + "#raw?op=head", want: []string{`"content"`}},
		{name: "an image", uri: picture + "?op=read#1", mime: "image/png"},
		{name: "no such op", uri: rows + "?op=wipe", code: BadRequest},
		{name: "no such parameter", uri: rows + "?patern=x", code: BadRequest},
		{name: "not to be kept", uri: rows + "?resultToFile=true", code: BadRequest},
		{name: "another result's name", uri: rows + "?resultFile=r1ab", code: BadRequest},
		{name: "twice", uri: rows + "?op=head&op=tail", code: BadRequest},
		{name: "no number", uri: rows + "?op=head&lines=many", code: BadRequest},
		{name: "no truth", uri: rows + "?op=grep&pattern=x&invert=maybe", code: BadRequest},
		{name: "a bad escape", uri: rows + "?op=%zz", code: BadRequest},
		{name: "unknown", uri: "spill://aaaaaaaaaaaaaaaaaaaaaaaaaa", code: NotFound},
		{name: "a path", uri: "spill:///etc/passwd?op=read", code: Denied},
		{name: "up", uri: "spill://../x", code: Denied},
		{name: "another scheme", uri: "file:///etc/passwd", code: NotFound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			raw, err := d.ReadResource(t.Context(), testAgent, tc.uri)
			if e, ok := errors.AsType[*Error](err); ok != (tc.code != "") || ok && e.Code != tc.code {
				t.Fatalf("got error %v, want code %q", err, tc.code)
			}
			if err != nil {
				return
			}
			c := gjson.GetBytes(raw, "contents.0")
			for _, w := range tc.want {
				if !strings.Contains(c.Get("text").String(), w) {
					t.Errorf("got %q, want it to hold %q", clip(c.Get("text").String(), 500), w)
				}
			}
			if mime := c.Get("mimeType").String(); c.Get("uri").String() != tc.uri || tc.mime != "" && mime != tc.mime {
				t.Errorf("got uri %q and type %q, want %q and %q", c.Get("uri"), mime, tc.uri, tc.mime)
			}
			if blob := c.Get("blob").String(); strings.HasPrefix(tc.mime, "image") != (blob != "") {
				t.Errorf("got blob %q", blob)
			} else if _, err := base64.StdEncoding.DecodeString(blob); err != nil {
				t.Error(err)
			}
			text := c.Get("text").String()
			if tc.mime == "application/json" { // what is within is quoted
				text = gjson.Get(text, "content.0.text").String()
			}
			if most := d.Budget("") + 200; len(text) > most {
				t.Errorf("got %d bytes, want at most %d", len(text), most)
			}
		})
	}
}

// TestReadResourceOwner: a URI opens a result to its own principal and session only.
func TestReadResourceOwner(t *testing.T) {
	d, _ := newHouse(t, nil)
	ann := Agent{Principal: "ann", Session: "s1"}
	uri := keptURI(t, d, ann, `{"action":"call","tool":"rows","arguments":{"n":500}}`)
	for _, other := range []Agent{{}, {Session: "s1"}, {Principal: "bob", Session: "s1"}, {Principal: "ann", Session: "s2"}} {
		if _, err := d.ReadResource(t.Context(), other, uri); asError(err).Code != NotFound {
			t.Errorf("%+v: got %v, want not_found", other, err)
		}
	}
	if _, err := d.ReadResource(t.Context(), ann, uri); err != nil {
		t.Errorf("its owner: got %v", err)
	}
}

// TestReportNamesResource: agents without readresult are told how to go on, clients that show links get one.
func TestReportNamesResource(t *testing.T) {
	d, _ := newHouse(t, nil)
	c, err := d.Call(t.Context(), testAgent, CallRequest{Tool: "rows", Arguments: []byte(`{"n":500}`), Reader: ReadAsResource})
	if err != nil {
		t.Fatal(err)
	}
	report := gjson.GetBytes(c.Content[0], "text").String()
	at := strings.Index(report, "resources/read spill://")
	if at < 0 || strings.Contains(report, "readresult") || len(c.Content) != 1 {
		t.Fatalf("got %s", c.Content)
	}
	uri := strings.TrimPrefix(report[at:], "resources/read ")
	if raw, err := d.ReadResource(t.Context(), testAgent, uri); err != nil || len(raw) == 0 {
		t.Errorf("the named resource: got %s, %v", raw, err)
	}
	viewer := Agent{Session: "s9", Client: "Visual Studio Code"}
	raw := d.Handle(t.Context(), Input{Agent: viewer, Arguments: []byte(`{"action":"call","tool":"rows","arguments":{"n":500}}`)}).Raw()
	blocks := gjson.GetBytes(raw, "content").Array()
	if len(blocks) != 2 || blocks[1].Get("type").String() != "resource_link" {
		t.Fatalf("got %s, want a link", raw)
	}
	if _, err := d.ReadResource(t.Context(), viewer, blocks[1].Get("uri").String()); err != nil {
		t.Errorf("the link: got %v", err)
	}
	if n := d.o.Tokens.Count(blocks[0].Get("text").String() + blocks[1].Raw); n > 300 {
		t.Errorf("report and link have %d tokens, want at most 300", n)
	}
}
