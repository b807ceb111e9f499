package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/tests/agent"
)

// resource reads a resource and returns its first text.
func (s *session) resource(uri string) (string, error) {
	s.t.Helper()
	params, _ := json.Marshal(map[string]string{"uri": uri})
	raw, err := s.Request(s.ctx, "resources/read", string(params))
	if err != nil {
		return "", err
	}
	var r struct{ Contents []struct{ URI, Text string } }
	if err := json.Unmarshal(raw, &r); err != nil || len(r.Contents) != 1 || r.Contents[0].URI != uri {
		s.t.Fatalf("resources/read %s: got %s, %v", uri, clip(string(raw), 300), err)
	}
	return r.Contents[0].Text, nil
}

// TestKeptResources reads kept results by the protocol's own method.
func TestKeptResources(t *testing.T) {
	t.Parallel()
	h := newHome(t, config("", fix("fixture")))
	s := h.serve(t)
	file := s.tool("big", `{"bytes":300000}`, `"format":"json"`).ok().object()["resultFile"].(string)
	id := longID.FindString(file)
	for query, want := range map[string]string{
		"": "records", "?op=grep&pattern=item-000777": `"id":777,`, "?op=head&lines=1": "item-000001", "?jq=map(.id)%7C.%5B7%5D": "8",
		"?op=slice&fromLine=5&toLine=5": "item-000005", "?op=shape": "amount", "?op=head&lines=1#raw": "content",
	} {
		if text, err := s.resource("spill://" + id + query); err != nil || !strings.Contains(text, want) {
			t.Errorf("%q: got %q, %v, want it to hold %q", query, clip(text, 300), err, want)
		} else if len(text) > 17<<10 {
			t.Errorf("%q: %d bytes, want at most the budget", query, len(text))
		}
	}
	raw, err := s.Request(s.ctx, "resources/templates/list", `{}`)
	if err != nil || !strings.Contains(string(raw), "spill://{id}{?op,") {
		t.Errorf("templates: got %s, %v", raw, err)
	}
	other := h.serve(t)
	for _, uri := range []string{"spill://" + id, "spill://nothing", "file:///etc/passwd", "spill:///etc/passwd"} {
		_, err := other.resource(uri)
		if fault, ok := errors.AsType[*agent.RPCError](err); !ok || !strings.Contains(string(fault.Raw), "-32002") {
			t.Errorf("%s in another session: got %v, want an error -32002", uri, err)
		}
	}
}

// TestFlowPolicy: what the configuration keeps apart stays apart, and the log says what went where.
func TestFlowPolicy(t *testing.T) {
	t.Parallel()
	h := newHome(t, config(`"flow": {"deny": [{"from": "people/*", "to": "web"}]}, "log": {"level": "info", "format": "json"}`, fix("people"), fix("web"), fix("hub")))
	s := h.serve(t)
	rows := s.spilled("people/big", `{"bytes":2000}`)
	send := func(tool, handle string) answer {
		return s.do(fmt.Sprintf(`{"action":"call","tool":%q,"arguments":{"message":{"$from":%q,"path":"0.name"}}}`, tool, handle))
	}
	send("hub/echo", rows).ok().wants("item-000001")
	send("web/echo", rows).fails("denied", "people/big", "web/echo", "flow.deny", "{from: people/*, to: web}", "Not sent: safe to repeat.")
	passed := s.spilled("hub/mirror", fmt.Sprintf(`{"rows":{"$from":%q}}`, rows))
	s.do(fmt.Sprintf(`{"action":"call","tool":"web/echo","arguments":{"message":{"$from":%q,"path":"rows.0.name"}}}`, passed)).fails("denied", "came from people/big")
	s.do(fmt.Sprintf(`{"action":"call","tool":"web/mirror","argumentsFile":%q,"dryRun":true}`, passed)).fails("denied")
	s.do(`{"action":"batch","calls":[{"id":"a","tool":"people/echo","arguments":{"message":"x"}},{"tool":"web/echo","arguments":{"message":{"$from":"a"}}}]}`).wants("[a] people/echo ok", "denied:")
	s.read(passed, "").ok().wants("from: hub/mirror, people/big (given)")
	eventually(t, "the log tells what went where", func() bool {
		log := s.Stderr()
		return strings.Contains(log, `"from":"people/big"`) && strings.Contains(log, `"outcome":"denied"`)
	})
}
