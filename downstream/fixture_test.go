package downstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/process"
	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

// The test binary plays the other processes: with FIXTURE set it is a server with these comma-separated faults,
// with WATCHER it is the watcher, with PARENT a proxy that is going to be killed.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("FIXTURE") != "":
		newFixture(strings.Split(os.Getenv("FIXTURE"), ",")).serve()
	case os.Getenv("WATCHER") != "":
		if process.Watch(os.Stdin) != nil {
			os.Exit(1)
		}
	case os.Getenv("PARENT") != "":
		playParent()
	default:
		os.Exit(m.Run())
	}
}

// fixture is a small server in one file, written without any library so that it can misbehave.
type fixture struct {
	faults    []string
	out       *bufio.Writer
	mu        sync.Mutex
	cancelled []string
	replies   chan []byte
	greeted   bool
	asked     map[string]chan string // questions that wait for an answer
	answered  int                    // answers to questions
	greeting  json.RawMessage        // the params of initialize
}

func newFixture(faults []string) *fixture {
	return &fixture{faults: faults, out: bufio.NewWriterSize(os.Stdout, 1<<20), replies: make(chan []byte, 16)}
}

func (f *fixture) has(fault string) bool { return slices.Contains(f.faults, fault) }

func (f *fixture) serve() {
	if f.has("stubborn") { // neither the end of its input nor a polite signal ends it
		signal.Ignore(syscall.SIGTERM)
	}
	if f.has("grandchild") {
		startGrandchild()
	}
	switch {
	case f.has("crash"):
		fmt.Fprintln(os.Stderr, "starting up")
		fmt.Fprintln(os.Stderr, "Error: KEY hunter2secret is wrong")
		fmt.Fprintln(os.Stderr, "bye")
		os.Exit(3)
	case f.has("silent"):
		io.Copy(io.Discard, os.Stdin)
		return
	case f.has("deaf"):
		time.Sleep(time.Hour)
	case f.has("slow"):
		time.Sleep(300 * time.Millisecond)
	case f.has("babble"):
		for i := range 2000 {
			fmt.Printf("loading module %d of hunter2secret\n", i)
			fmt.Fprintf(os.Stderr, "stderr line %d of hunter2secret\n", i)
		}
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := f.read(in)
		if len(line) > 0 {
			f.take(line)
		}
		if err != nil {
			break
		}
	}
	if f.has("stubborn") {
		time.Sleep(time.Hour)
	}
}

func startGrandchild() {
	cmd := exec.Command("sleep", "300")
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	if path := os.Getenv("PIDS"); path != "" {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(file, "%d\n%d\n", os.Getpid(), cmd.Process.Pid)
		file.Close()
	}
}

func (f *fixture) write(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.has("framed") {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			fmt.Fprintf(f.out, "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(line), line)
		}
	} else {
		f.out.WriteString(text)
	}
	f.out.Flush()
}

func (f *fixture) answer(id json.RawMessage, result string) {
	f.write(fmt.Sprintf("{\"result\":%s,\"jsonrpc\":\"2.0\",\"id\":%s}\n", result, id))
}

func (f *fixture) refuse(id json.RawMessage, err string) {
	f.write(fmt.Sprintf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":%s}\n", id, err))
}

func (f *fixture) take(line []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		f.write("cannot parse: " + string(line))
		return
	}
	switch {
	case m.Method == "":
		f.settle(string(m.ID), line)
	case m.Method == "initialize" && f.has("modern"):
		f.refuse(m.ID, `{"code":-32022,"message":"unsupported protocol version","data":{"supported":["2026-07-28"]}}`)
	case m.Method == "initialize":
		f.greeted, f.greeting = true, m.Params
		f.answer(m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"fixture","version":"1"},"big":12345678901234567890}`)
	case m.Method == "server/discover" && f.has("modern"):
		f.greeted = true
		f.answer(m.ID, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fixture","version":"1"}}}`)
	case !f.greeted:
		os.Exit(4) // some servers really do
	case m.Method == "notifications/cancelled":
		f.mu.Lock()
		f.cancelled = append(f.cancelled, string(m.Params))
		f.mu.Unlock()
	case strings.HasPrefix(m.Method, "notifications/") && m.Method != "notifications/initialized":
		f.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/heard","params":%s}`+"\n", bytes.TrimSpace(line)))
	case m.ID != nil:
		f.call(m.ID, m.Method, m.Params, line)
	}
}

func (f *fixture) call(id json.RawMessage, method string, params, line []byte) {
	switch method {
	case "ping":
		if !f.has("noping") {
			f.answer(id, `{}`)
		}
	case "echo":
		if params == nil {
			params = []byte(`null`)
		}
		f.answer(id, string(params))
	case "line":
		f.answer(id, string(mustJSON(strings.TrimSpace(string(line)))))
	case "exact":
		f.answer(id, exactResult)
	case "error":
		f.refuse(id, exactError)
	case "string-id":
		f.answer([]byte(`"`+string(id)+`"`), `{"ok":true}`)
	case "pid":
		f.answer(id, fmt.Sprintf(`{"pid":%d}`, os.Getpid()))
	case "cancelled":
		f.mu.Lock()
		list := string(mustJSON(f.cancelled))
		f.mu.Unlock()
		f.answer(id, `{"cancelled":`+list+`}`)
	case "die":
		os.Exit(3)
	case "half":
		f.write(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"content":[{"ty`)
		os.Exit(0)
	case "mute": // no answer, ever
	case "subscriptions/listen": // neither
		f.listen(id, params)
	case "big":
		f.big(id, params)
	default:
		f.callMore(id, method, params)
	}
}

func (f *fixture) callMore(id json.RawMessage, method string, params []byte) {
	switch method {
	case "storm":
		for range 5000 {
			f.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")
		}
		f.answer(id, `{}`)
	case "progress":
		var p struct {
			N    int `json:"n"`
			Meta struct {
				Token json.RawMessage `json:"progressToken"`
			} `json:"_meta"`
		}
		json.Unmarshal(params, &p)
		for i := range p.N {
			f.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":1.10}}`+"\n", p.Meta.Token, i))
		}
		f.answer(id, `{}`)
	case "asks":
		go func() { // the answers come through take
			f.write(`{"jsonrpc":"2.0","id":"q 1","method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":98765432109876543210,"method":"roots/list"}` + "\n")
			f.answer(id, fmt.Sprintf(`{"replies":[%s,%s]}`, <-f.replies, <-f.replies))
		}()
	case "batch":
		f.write(fmt.Sprintf(`[{"jsonrpc":"2.0","method":"notifications/tools/list_changed"},{"jsonrpc":"2.0","id":%s,"result":{"batched":1}}]`+"\n", id))
	default:
		f.callWithQuestions(id, method, params)
	}
}

// big answers with a text of n bytes.
func (f *fixture) big(id json.RawMessage, params []byte) {
	var p struct {
		N int `json:"n"`
	}
	json.Unmarshal(params, &p)
	f.mu.Lock()
	defer f.mu.Unlock()
	head, tail := `{"jsonrpc":"2.0","id":`+string(id)+`,"result":{"text":"`, "\"}}\n"
	if f.has("framed") {
		fmt.Fprintf(f.out, "Content-Length: %d\r\n\r\n", len(head)+p.N+len(tail))
	}
	f.out.WriteString(head)
	piece := strings.Repeat("abcdefgh", 8<<10)
	for left := p.N; left > 0; left -= len(piece) {
		f.out.WriteString(piece[:min(left, len(piece))])
	}
	f.out.WriteString(tail)
	f.out.Flush()
}

func mustJSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// exactResult holds what a decoder that knows too much would change.
const exactResult = `{ "z":1.10, "content":[{"type":"hologram","depth":18446744073709551617,"html":"<b>&amp;\u003c</b>","e":1E+2}],  "a":{"$schema":"x","allOf":[]},"_meta":{"big":9007199254740993},"z2":-0.0 }`

const exactError = `{"code":-32002,"message":"no <such> thing","data":{"big":9007199254740993,"x":1.10},"extra":true}`

// fixtureServer is a Server that runs this test binary with faults.
func fixtureServer(t testing.TB, name string, faults ...string) Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if len(faults) == 0 {
		faults = []string{"none"}
	}
	return Server{Name: name, Command: self, Env: []string{"FIXTURE=" + strings.Join(faults, ",")}, Timeout: 20 * time.Second}
}

func newFleet(t testing.TB, o Options) *Fleet {
	t.Helper()
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// fateOf finds the fate in an error that a caller of Do sees.
func fateOf(err error) Fate {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Fate
	}
	return wire.FateOf(err)
}

// eventually polls until ok or a generous deadline.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}
