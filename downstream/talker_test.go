package downstream

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// talker is a remote server of the old era, written by hand so that each byte of what it says is known. It speaks
// streamable HTTP, or the older transport if old.
type talker struct {
	old bool

	mu       sync.Mutex
	asked    map[string]chan string // questions that wait for an answer
	out      chan string            // what goes to the stream that no request opened
	posts    []string
	resumed  []string // the Last-Event-ID of each GET
	sessions int
	deleted  int
	forgot   bool
}

func newTalker(t *testing.T) *talkerServer { return startTalker(t, &talker{}) }

func newOldTalker(t *testing.T) *talkerServer { return startTalker(t, &talker{old: true}) }

type talkerServer struct {
	*httptest.Server
	*talker
}

func startTalker(t *testing.T, tk *talker) *talkerServer {
	tk.asked, tk.out = map[string]chan string{}, make(chan string, 10_000)
	s := httptest.NewServer(tk)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return &talkerServer{s, tk}
}

func (tk *talker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet:
		tk.stream(w, r)
	case r.Method == http.MethodDelete:
		tk.mu.Lock()
		tk.deleted++
		tk.mu.Unlock()
	default:
		tk.post(w, r)
	}
}

// stream is the one that says what belongs to no request, and the rest of a broken one.
func (tk *talker) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	last := r.Header.Get("Last-Event-Id")
	tk.mu.Lock()
	tk.resumed = append(tk.resumed, last)
	tk.mu.Unlock()
	if tk.old {
		fmt.Fprint(w, "event: endpoint\ndata: /post\n\n")
	}
	if rest, ok := strings.CutPrefix(last, "rest of "); ok {
		fmt.Fprintf(w, "id: done\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"resumed\":true}}\n\n", rest)
		return
	}
	w.(http.Flusher).Flush()
	for n := 0; ; n++ {
		select {
		case <-r.Context().Done():
			return
		case message := <-tk.out:
			if message == "close" {
				return
			}
			fmt.Fprintf(w, "id: event %d\ndata: %s\n\n", n, message)
			w.(http.Flusher).Flush()
		}
	}
}

func (tk *talker) post(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	json.Unmarshal(body, &m)
	tk.mu.Lock()
	tk.posts = append(tk.posts, strings.TrimSpace(string(body)))
	waits := tk.asked[string(m.ID)]
	if m.Method == "" {
		delete(tk.asked, string(m.ID))
	}
	forgot := tk.forgot && m.Method != "initialize"
	tk.mu.Unlock()
	switch {
	case forgot:
		w.WriteHeader(http.StatusNotFound)
	case m.Method == "" && waits != nil:
		waits <- strings.TrimSpace(string(body))
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "" || m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "server/discover":
		w.WriteHeader(http.StatusBadRequest)
	case tk.old:
		w.WriteHeader(http.StatusAccepted)
		go tk.answer(func(text string) { tk.out <- text }, nil, m.ID, m.Method, m.Params)
	default:
		if m.Method == "initialize" {
			tk.mu.Lock()
			tk.sessions++
			tk.forgot = false
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("session-", tk.sessions))
			tk.mu.Unlock()
		}
		w.Header().Set("Content-Type", "text/event-stream")
		tk.answer(func(text string) {
			fmt.Fprintf(w, "data: %s\n\n", text)
			w.(http.Flusher).Flush()
		}, w, m.ID, m.Method, m.Params)
	}
}

// answer says what a request calls for; w is its own stream, nil if there is none.
func (tk *talker) answer(say func(string), w http.ResponseWriter, id json.RawMessage, method string, params json.RawMessage) {
	var p struct {
		N          int
		ID, Params json.RawMessage
	}
	json.Unmarshal(params, &p)
	result := `{}`
	switch method {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{}}`
	case "say":
		for i := range p.N {
			say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":%d}}`, i))
		}
	case "say and ask":
		say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}`)
		result = <-tk.ask(say, `"q"`, `{}`)
	case "question":
		result = <-tk.ask(say, string(p.ID), string(p.Params))
	case "question elsewhere": // on the stream of no request
		result = <-tk.ask(func(text string) { tk.out <- text }, string(p.ID), string(p.Params))
	case "big":
		result = `"` + strings.Repeat("x", p.N) + `"`
	case "break": // ends before the answer
		fmt.Fprintf(w, "id: rest of %s\nretry: 10\ndata:\n\n", id)
		return
	case "tear": // breaks off in the middle of it
		fmt.Fprintf(w, "id: rest of %s\nretry: 10\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\ndata: {\"jso", id)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	case "forget":
		tk.mu.Lock()
		tk.forgot = true
		tk.mu.Unlock()
	}
	say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
}

func (tk *talker) ask(say func(string), id, params string) chan string {
	waits := make(chan string, 1)
	tk.mu.Lock()
	tk.asked[id] = waits
	tk.mu.Unlock()
	say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":%s}`, id, params))
	return waits
}
