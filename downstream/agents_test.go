package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}

func processOf(t *testing.T, f *Fleet, asker string) int {
	t.Helper()
	raw, err := f.Do(t.Context(), Request{Server: "s", Method: "pid", Asker: asker})
	var got struct{ PID int }
	if err != nil || json.Unmarshal(raw, &got) != nil {
		t.Fatalf("%q: got %s, %v", asker, raw, err)
	}
	return got.PID
}

func ownFleet(t *testing.T, o Options) *Fleet {
	s := fixtureServer(t, "s")
	s.PerAgent = true
	o.Servers = []Server{s}
	return newFleet(t, o)
}

func TestSessionPerAgent(t *testing.T) {
	f := ownFleet(t, Options{})
	shared, a, b := processOf(t, f, ""), processOf(t, f, "a"), processOf(t, f, "b")
	if shared == a || a == b || shared == b {
		t.Errorf("got processes %d, %d, %d; want three", shared, a, b)
	}
	if processOf(t, f, "a") != a || processOf(t, f, "") != shared {
		t.Error("an agent does not find its process again")
	}
	f.Leave("a")
	f.Leave("nobody")
	if again := processOf(t, f, "a"); again == a {
		t.Error("the process outlives the agent")
	}
	if processOf(t, f, "b") != b {
		t.Error("another agent lost its process")
	}
	if state, _ := f.State("s"); state != StateReady {
		t.Errorf("got %s", state)
	}
}

// Questions in sessions of their own reach their agents, however many call at once.
func TestQuestionsOfAgents(t *testing.T) {
	f := ownFleet(t, Options{})
	var all sync.WaitGroup
	for i := range 40 {
		agent := fmt.Sprint("agent ", i%4)
		all.Go(func() {
			got, err := f.Do(t.Context(), Request{Server: "s", Method: "question", Params: json.RawMessage(fmt.Sprintf(`{"id":%d,"params":{}}`, i)), Asker: agent, Ask: says(agent)})
			if err != nil || !strings.Contains(string(got), `"result":"`+agent+`"`) {
				t.Errorf("%s: got %s, %v", agent, got, err)
			}
		})
	}
	all.Wait()
}

func TestAgentsAreBounded(t *testing.T) {
	f := ownFleet(t, Options{MaxAgents: 2})
	a := processOf(t, f, "a")
	ctx, cancel := contextOf(t)
	defer cancel()
	var busy sync.WaitGroup
	defer busy.Wait()
	defer cancel()
	busy.Go(func() { f.Do(ctx, Request{Server: "s", Method: "mute", Asker: "b"}) })
	m := f.member("s")
	eventually(t, "b is busy", func() bool { own := m.agents.get("b"); return own != nil && own.users.Load() == 1 })
	processOf(t, f, "c") // in the place of a
	if n := len(m.agents.all()); n != 2 || m.agents.get("a") != nil {
		t.Errorf("got %d sessions, want those of b and c", n)
	}
	if processOf(t, f, "a") == a {
		t.Error("the process that was given up lives")
	}
	busy.Go(func() { f.Do(ctx, Request{Server: "s", Method: "mute", Asker: "a"}) })
	eventually(t, "a is busy", func() bool { own := m.agents.get("a"); return own != nil && own.users.Load() == 1 })
	if _, err := f.Do(t.Context(), Request{Server: "s", Method: "pid", Asker: "c"}); !errors.Is(err, ErrUnavailable) || fateOf(err) != NotSent || !strings.Contains(err.Error(), "too many agents") {
		t.Errorf("got %v", err)
	}
}

func TestIdleAgents(t *testing.T) {
	f := ownFleet(t, Options{AgentIdle: 100 * time.Millisecond})
	shared := processOf(t, f, "")
	a := processOf(t, f, "a")
	eventually(t, "the session ended", func() bool { return len(f.member("s").agents.all()) == 0 })
	if processOf(t, f, "a") == a || processOf(t, f, "") != shared {
		t.Error("the wrong process ended")
	}
}

func TestWhatServersAreTold(t *testing.T) {
	client := func(c Client) string {
		return fmt.Sprintf(`"capabilities":%s,"clientInfo":{"name":%q,"version":%q}`, c.Capabilities, c.Info.Name, c.Info.Version)
	}
	ours := Client{ClientInfo{"ours", "1"}, json.RawMessage("{\n\"roots\":{}}")}
	theirs := Client{ClientInfo{"theirs", "2"}, json.RawMessage(`{"sampling":{}}`)}
	later := Client{ClientInfo{"later", "3"}, json.RawMessage(`{"elicitation":{}}`)}
	o := Options{ClientInfo: ours.Info, Capabilities: ours.Capabilities, ClientOf: func(asker string) (Client, bool) { return theirs, asker == "a" }}
	s := fixtureServer(t, "s", "keeps initialize")
	s.PerAgent = true
	o.Servers = []Server{s}
	f := newFleet(t, o)
	greeting := func(asker string) string {
		raw, err := f.Do(t.Context(), Request{Server: "s", Method: "greeting", Asker: asker})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	ours.Capabilities = json.RawMessage(`{"roots":{}}`)
	if got := greeting(""); !strings.Contains(got, client(ours)) {
		t.Errorf("shared: got %s", got)
	}
	if got := greeting("a"); !strings.Contains(got, client(theirs)) {
		t.Errorf("own: got %s", got)
	}
	f.Introduce(later)
	if got := greeting(""); !strings.Contains(got, client(ours)) {
		t.Errorf("a running session: got %s", got)
	}
	if got := greeting("b"); !strings.Contains(got, client(later)) {
		t.Errorf("a new session: got %s", got)
	}
}

// Of an agent's own session its beginning and its words are told, with whose it is, and no changes of lists or states:
// those are the shared session's.
func TestEventsOfAgents(t *testing.T) {
	heard := make(chan string, 1000)
	f := ownFleet(t, Options{OnEvent: func(e Event) {
		if e.Asker != "" {
			heard <- string(e.Kind) + " " + e.Asker + " " + e.Method
		}
	}})
	for _, method := range []string{"storm", "batch", "say"} {
		if _, err := f.Do(t.Context(), Request{Server: "s", Method: method, Params: json.RawMessage(`{"n":1}`), Asker: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	f.Leave("a")
	f.Close()
	close(heard)
	var got []string
	for one := range heard {
		got = append(got, one)
	}
	if want := []string{"ready a ", "said a notifications/message"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
