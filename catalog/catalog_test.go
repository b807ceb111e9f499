package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fake is a small fleet of servers living in the test. An answer is a function of the cursor.
type fake struct {
	mu      sync.Mutex
	hellos  map[string]string
	answers map[string]func(cursor string) (string, error) // by "server method"
	asked   []string
	delay   time.Duration
}

func (f *fake) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, what)
}

func (f *fake) pause(ctx context.Context) error {
	if f.delay == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(f.delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fake) Hello(ctx context.Context, server string) (json.RawMessage, error) {
	f.note(server)
	if err := f.pause(ctx); err != nil {
		return nil, err
	}
	if h, ok := f.hellos[server]; ok {
		return json.RawMessage(h), nil
	}
	return nil, errors.New("cannot be started")
}

func (f *fake) Fetch(ctx context.Context, server, method string, params json.RawMessage) (json.RawMessage, error) {
	var p struct{ Cursor string }
	if params != nil && json.Unmarshal(params, &p) != nil {
		return nil, fmt.Errorf("bad params %s", params)
	}
	f.note(strings.TrimSpace(server + " " + method + " " + p.Cursor))
	f.mu.Lock()
	answer := f.answers[server+" "+method]
	f.mu.Unlock()
	if answer == nil {
		return nil, fmt.Errorf("ask %s: %w", server, rpcError(-32601))
	}
	raw, err := answer(p.Cursor)
	return json.RawMessage(raw), err
}

func (f *fake) set(server, method string, answer func(string) (string, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[server+" "+method] = answer
}

type rpcError int64

func (e rpcError) Error() string  { return fmt.Sprintf("rpc error %d", int64(e)) }
func (e rpcError) RPCCode() int64 { return int64(e) }

// tools answers with tools of these names, all on one page.
func tools(names ...string) func(string) (string, error) {
	return func(string) (string, error) {
		var all []string
		for _, n := range names {
			all = append(all, fmt.Sprintf(`{"name":%q,"description":"does %s"}`, n, n))
		}
		return `{"tools":[` + strings.Join(all, ",") + `]}`, nil
	}
}

const toolsOnly = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}`

func start(t *testing.T, f *fake, o Options, names ...string) *Catalog {
	t.Helper()
	for _, n := range names {
		o.Servers = append(o.Servers, ServerOptions{Name: n, ID: "id-of-" + n})
	}
	o.Source = f
	c := New(o)
	t.Cleanup(c.Close)
	return c
}

func names(s *Server) string {
	var all []string
	for _, e := range s.Entries {
		all = append(all, e.Name)
	}
	return strings.Join(all, " ")
}

func TestRefreshFollowsPages(t *testing.T) {
	pages := map[string]func(string) (string, error){
		"three": func(c string) (string, error) {
			return map[string]string{
				"":   `{"tools":[{"name":"a"}],"nextCursor":"2"}`,
				"2":  `{"tools":[{"name":"b"}],"nextCursor":"3\""}`,
				`3"`: `{"tools":[{"name":"c"}]}`,
			}[c], nil
		},
		"endless": func(string) (string, error) { return `{"tools":[{"name":"a"}],"nextCursor":"x"}`, nil },
		"circle": func(c string) (string, error) {
			return map[string]string{
				"":  `{"tools":[{"name":"a"}],"nextCursor":"2"}`,
				"2": `{"tools":[{"name":"b"}],"nextCursor":"3"}`,
				"3": `{"tools":[{"name":"c"}],"nextCursor":"2"}`,
			}[c], nil
		},
		"growing": func() func(string) (string, error) {
			n := 0
			return func(string) (string, error) {
				n++
				return fmt.Sprintf(`{"tools":[{"name":"t%d"}],"nextCursor":"same"}`, n), nil
			}
		}(),
		"many pages": func() func(string) (string, error) {
			n := 0
			return func(string) (string, error) { n++; return fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, n), nil }
		}(),
		"large":       func(string) (string, error) { return `{"tools":[],"x":"` + strings.Repeat("x", 5000) + `"}`, nil },
		"second bad":  func(c string) (string, error) { return `{"tools":[{"name":"a"}],"nextCursor":"2"}`[:41-len(c)], nil },
		"later error": func(c string) (string, error) { return `{"tools":[{"name":"a"}],"nextCursor":"2"}`, errIf(c == "2") },
		"constant": func() func(string) (string, error) {
			n := 0
			return func(string) (string, error) {
				if n++; n == 3 {
					return `{"tools":[{"name":"t3"}]}`, nil
				}
				return fmt.Sprintf(`{"tools":[{"name":"t%d"}],"nextCursor":"more"}`, n), nil
			}
		}(),
	}
	for _, tc := range []struct{ server, want, skipped, fails string }{
		{server: "three", want: "a b c"},
		{server: "endless", want: "a", skipped: "tools/list: the server repeats its cursors without end, the list ends where nothing new came"},
		{server: "circle", want: "a b c", skipped: "tools/list: the server repeats its cursors without end, the list ends where nothing new came"},
		{server: "constant", want: "t1 t2 t3"},
		{server: "growing", fails: "more than 10 entries"},
		{server: "many pages", fails: "more than 20 pages"},
		{server: "large", fails: "more than 5000 bytes of lists"},
		{server: "second bad", fails: "not valid JSON"},
		{server: "later error", fails: "rpc error -32601"},
	} {
		t.Run(tc.server, func(t *testing.T) {
			f := &fake{hellos: map[string]string{tc.server: toolsOnly}, answers: map[string]func(string) (string, error){}}
			f.set(tc.server, "tools/list", pages[tc.server])
			c := start(t, f, Options{MaxPages: 20, MaxEntries: 10, MaxBytes: 5000}, tc.server)
			err := c.Refresh(t.Context())
			s := c.Snapshot().Server(tc.server)
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) || s.Err == nil || s.Known || s.Entries != nil {
					t.Errorf("Refresh error = %v, server = %+v, want an error with %q and nothing half", err, s, tc.fails)
				}
				return
			}
			if err != nil || names(s) != tc.want || strings.Join(s.Skipped, "\n") != tc.skipped {
				t.Errorf("entries = %q, skipped %q, error %v, want %q, %q", names(s), s.Skipped, err, tc.want, tc.skipped)
			}
		})
	}
}

func errIf(fails bool) error {
	if fails {
		return rpcError(-32601) // only a first page may say that there is no list
	}
	return nil
}

func TestRefreshAsksByCapabilities(t *testing.T) {
	const all = "s tools/list|s resources/list|s resources/templates/list|s prompts/list"
	for _, tc := range []struct{ name, hello, want string }{
		{"all", `{"capabilities":{"tools":{},"resources":{},"prompts":{}}}`, all},
		{"tools", toolsOnly, "s tools/list"},
		{"resources", `{"capabilities":{"resources":{"subscribe":true}}}`, "s resources/list|s resources/templates/list"},
		{"none", `{"capabilities":{}}`, ""},
		{"null and false", `{"capabilities":{"tools":null,"prompts":false}}`, ""},
		{"not said", `{"protocolVersion":"x"}`, "s tools/list"},
		{"null", `{"capabilities":null}`, "s tools/list"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &fake{hellos: map[string]string{"s": tc.hello}}
			c := start(t, f, Options{}, "s")
			if err := c.Refresh(t.Context(), "c1"); err != nil {
				t.Errorf("Refresh error = %v, want none: a method not found is an empty list", err)
			}
			if got := strings.Join(f.asked[1:], "|"); got != tc.want {
				t.Errorf("asked %q, want %q", got, tc.want)
			}
			if s := c.Snapshot().Server("s"); !s.Known || s.Cached || s.Err != nil {
				t.Errorf("server = %+v, want it known", s)
			}
		})
	}
}

func TestRefreshKeepsWhatItKnew(t *testing.T) {
	f := &fake{hellos: map[string]string{"a": toolsOnly, "b": toolsOnly}, answers: map[string]func(string) (string, error){}}
	f.set("a", "tools/list", tools("one", "two"))
	f.set("b", "tools/list", tools("three"))
	c := start(t, f, Options{}, "a", "b")
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := c.Snapshot()
	f.set("a", "tools/list", func(string) (string, error) { return "", errors.New("lost") })
	err := c.Refresh(t.Context())
	if err == nil || err.Error() != "refresh a: ask tools/list: lost" {
		t.Errorf("Refresh error = %v, want that of a", err)
	}
	s := c.Snapshot()
	if a := s.Server("a"); names(a) != "one two" || a.Err == nil || !a.Known {
		t.Errorf("a = %+v, want its old tools and an error", a)
	}
	if s.Server("b").Err != nil || s.Hash != first.Hash || s.Gen <= first.Gen {
		t.Errorf("snapshot = %+v, want b well, the hash as before, a later generation", s)
	}
	if s.Server("b").Entries[0] != first.Server("b").Entries[0] {
		t.Error("an unchanged entry was replaced, want the same one with its signature")
	}
	f.set("a", "tools/list", tools("one", "changed"))
	if err := c.Refresh(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if s := c.Snapshot(); s.Hash == first.Hash || s.Server("a").Err != nil || s.Entry(Ref{"a", Tool, "changed"}) == nil {
		t.Errorf("snapshot after a change = %+v, want another hash and the new tool", s)
	}
}

func TestRefreshRefusesWhatItDoesNotKnow(t *testing.T) {
	f := &fake{hellos: map[string]string{"a": toolsOnly}}
	c := New(Options{Source: f, Servers: []ServerOptions{{Name: "a"}, {Name: "off", Disabled: true}}})
	if err := c.Refresh(t.Context(), "nobody"); !errors.Is(err, ErrUnknownServer) {
		t.Errorf("Refresh(nobody) error = %v, want ErrUnknownServer", err)
	}
	if err := c.Refresh(t.Context(), "off"); !errors.Is(err, ErrDisabled) {
		t.Errorf("Refresh(off) error = %v, want ErrDisabled", err)
	}
	if err := c.Refresh(t.Context()); err != nil || len(f.asked) != 2 {
		t.Errorf("Refresh() error = %v, asked %q, want a alone", err, f.asked)
	}
	c.Close()
	if err := c.Refresh(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Refresh after Close: error = %v, want ErrClosed", err)
	}
}

func TestStormsCoalesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{hellos: map[string]string{"a": toolsOnly}, answers: map[string]func(string) (string, error){}, delay: time.Second}
		f.set("a", "tools/list", tools("x"))
		c := start(t, f, Options{}, "a")
		var wg sync.WaitGroup
		began := time.Now()
		for range 1000 {
			wg.Go(func() {
				if err := c.Refresh(t.Context(), "a"); err != nil {
					t.Error(err)
				}
			})
		}
		c.Schedule("a", "a")
		wg.Wait()
		if got := time.Since(began); got != 2*time.Second || len(f.asked) != 4 {
			t.Errorf("1,000 refreshes took %v and asked %q, want 2 s and two rounds", got, f.asked)
		}
	})
}

func TestRefreshIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{hellos: map[string]string{"a": toolsOnly}, delay: time.Hour}
		c := start(t, f, Options{Timeout: 30 * time.Second}, "a")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		began := time.Now()
		if err := c.Refresh(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 2*time.Second {
			t.Errorf("Refresh error = %v after %v, want the caller's deadline after 2 s", err, time.Since(began))
		}
		c.Wait(t.Context())
		if s := c.Snapshot().Servers[0]; time.Since(began) != 30*time.Second || !errors.Is(s.Err, context.DeadlineExceeded) {
			t.Errorf("server error = %v after %v, want the refresh's own timeout after 30 s", s.Err, time.Since(began))
		}
		c.Schedule()
		synctest.Wait()
		closing := time.Now()
		c.Close()
		if time.Since(closing) != 0 {
			t.Errorf("Close took %v, want it to end the refresh", time.Since(closing))
		}
	})
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{hellos: map[string]string{"lazy": toolsOnly, "slow": toolsOnly}, delay: 5 * time.Second}
		c := New(Options{Source: f, Servers: []ServerOptions{
			{Name: "lazy", Lazy: true}, {Name: "off", Disabled: true}, {Name: "broken"}, {Name: "slow"}}})
		defer c.Close()
		began := time.Now()
		c.Schedule("slow")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		c.Wait(ctx)
		if got := time.Since(began); got != 2*time.Second {
			t.Errorf("Wait took %v, want the 2 s of its context", got)
		}
		c.Wait(t.Context())
		s := c.Snapshot()
		if got := time.Since(began); got != 5*time.Second || !s.Server("lazy").Known || s.Server("broken").Err == nil || !s.Server("slow").Known {
			t.Errorf("Wait took %v, want 5 s and every enabled server known or failed", got)
		}
		c.Wait(t.Context())
		if got := time.Since(began); got != 5*time.Second || s.Server("off").Known {
			t.Errorf("a second Wait took until %v, want none", got)
		}
	})
}

func TestWatchSeesEverySwapInOrder(t *testing.T) {
	f := &fake{hellos: map[string]string{}}
	var all []string
	for i := range 50 {
		name := fmt.Sprintf("s%d", i)
		f.hellos[name], all = toolsOnly, append(all, name)
	}
	c := start(t, f, Options{}, all...)
	var seen []uint64
	stop := c.Watch(func(s *Snapshot) { seen = append(seen, s.Gen) })
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := c.Refresh(t.Context(), "s0"); err != nil {
		t.Fatal(err)
	}
	var want []uint64
	for i := range 50 {
		want = append(want, uint64(i+2))
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("generations seen (-want +got):\n%s", diff)
	}
}

func TestSecondStartKnowsWithoutAsking(t *testing.T) {
	dir := t.TempDir()
	f := &fake{hellos: map[string]string{"a": toolsOnly, "b": toolsOnly}, answers: map[string]func(string) (string, error){}}
	f.set("a", "tools/list", tools("one"))
	f.set("b", "tools/list", tools("two"))
	c := start(t, f, Options{CacheDir: dir}, "a", "b")
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	hash := c.Snapshot().Hash
	if err := os.WriteFile(cachePath(dir, "id-of-c"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := len(f.asked)
	again := start(t, f, Options{CacheDir: dir}, "a", "b")
	s := again.Snapshot()
	if a := s.Server("a"); !a.Known || !a.Cached || names(a) != "one" || s.Hash != hash || len(f.asked) != asked {
		t.Errorf("server = %+v, hash %s, asked %q, want the cached one, hash %s, nobody asked", a, s.Hash, f.asked[asked:], hash)
	}
	if err := again.Refresh(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if a := again.Snapshot().Server("a"); a.Cached || a.Entries[0] != s.Server("a").Entries[0] {
		t.Errorf("server = %+v, want it confirmed with the entries it had", a)
	}
	if broken := start(t, f, Options{CacheDir: dir}, "c").Snapshot().Server("c"); broken.Known || broken.Err != nil {
		t.Errorf("server with a corrupt cache = %+v, want an unknown one", broken)
	}
	off := New(Options{CacheDir: dir, Servers: []ServerOptions{{Name: "a", ID: "id-of-a", Disabled: true}}})
	defer off.Close()
	if off.Snapshot().Server("a").Known {
		t.Error("a disabled server is known from the cache, want it unknown")
	}
}

func TestSnapshotLookups(t *testing.T) {
	s := NewSnapshot(1, []*Server{{Name: "x"}, {Name: "c1"}, {Name: "primary2"}})
	for name, want := range map[string]string{"x": "x", "c1": "c1", "c3": "primary2", "c2": "c1", "default": "x", "primary": "x"} {
		if got := s.Server(name); got == nil || got.Name != want {
			t.Errorf("Server(%q) = %v, want %s", name, got, want)
		}
	}
	if s.Server("c9") != nil || s.Entry(Ref{"x", Tool, "t"}) != nil || s.Entry(Ref{"y", Tool, "t"}) != nil {
		t.Error("lookups of what is absent found something, want nil")
	}
	if New(Options{}).Snapshot().Server("default") != nil {
		t.Error("an empty catalog has a default server, want none")
	}
}

func TestHash(t *testing.T) {
	hash := func(s ...*Server) string { return NewSnapshot(1, s).Hash }
	server := func(raw ...string) *Server {
		s := &Server{Name: "s"}
		for _, r := range raw {
			e, err := NewEntry("s", Tool, false, json.RawMessage(r))
			if err != nil {
				t.Fatal(err)
			}
			s.Entries = append(s.Entries, e)
		}
		return s
	}
	a, b := `{"name":"a","description":"d","inputSchema":{"x":1}}`, `{"name":"b"}`
	base := hash(server(a, b))
	same := server(b, a)
	same.Err, same.Cached, same.Refreshed = errors.New("x"), true, time.Now()
	if got := hash(same); got != base || len(got) != 16 {
		t.Errorf("hash after a change of order, state and time = %s, want %s", got, base)
	}
	for name, raw := range map[string]string{
		"name": strings.Replace(a, `"a"`, `"A"`, 1), "description": strings.Replace(a, `"d"`, `"D"`, 1),
		"hidden character": strings.Replace(a, `"d"`, `"d\u200b"`, 1), "schema": strings.Replace(a, `1`, `2`, 1),
	} {
		if hash(server(raw, b)) == base {
			t.Errorf("hash did not change with the %s", name)
		}
	}
	if hash(&Server{Name: "s2", Entries: server(a, b).Entries}) == base {
		t.Error("hash did not change with the server's name")
	}
}
