package serve

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzPost holds that no message over HTTP, with whatever headers, brings us down or gets an answer that is none.
func FuzzPost(f *testing.F) {
	const ping = `{"jsonrpc":"2.0","id":"last","method":"ping"}`
	f.Add(ping, "", "", "")
	f.Add(callAsk("1", `{"method":"no/such"}`), "2025-11-25", "", "")
	f.Add(modernCall(1, "echo", `{"a":1}`, `{}`), "2026-07-28", "tools/call", "echo")
	f.Add(modernCall(1, "relay", `{}`, everything, give("x", `{}`)), "2026-07-28", "tools/call", "=?base64?cmVsYXk=?=")
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+modernMeta(`{}`)+`}}`, "2026-07-28", "subscriptions/listen", "")
	f.Add(`[`+ping+`]`, "", "", "")
	face := newFakeFace()
	h, err := Handler(f.Context(), HTTPOptions{Options: Options{Face: face, MaxMessage: 2000}})
	if err != nil {
		f.Fatal(err)
	}
	do := func(body, session, version, method, name string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Session-Id": {session}}
		for key, value := range map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name} {
			if value != "" {
				r.Header.Set(key, value)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	session := do(hello, "", "", "", "").Header().Get(sessionHeader)
	f.Fuzz(func(t *testing.T, body, version, method, name string) {
		if strings.Contains(body, "wait") || strings.Contains(body, "askBoth") {
			t.Skip("runs until cancelled")
		}
		w := do(body, session, version, method, name)
		for line := range strings.Lines(w.Body.String()) {
			data, event := strings.CutPrefix(line, "data: ")
			if data = strings.TrimSpace(data); event && data != "" && !json.Valid([]byte(data)) {
				t.Errorf("answered %q, which is not JSON", data)
			}
		}
		if w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("answered %q, which is not JSON", w.Body)
		}
		if got := do(ping, session, "", "", "").Body.String(); got != `{"jsonrpc":"2.0","id":"last","result":{}}` {
			t.Errorf("after it: got %s", got)
		}
	})
}
