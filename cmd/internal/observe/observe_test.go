package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

func open(t *testing.T, o Options) *Observer {
	t.Helper()
	ob, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ob.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return ob
}

func request(ob *Observer, c dispatch.CallInfo, out dispatch.Outcome) {
	_, end := ob.Begin(context.Background(), c)
	end(out)
}

// TestAudit shows what one request leaves in the log.
func TestAudit(t *testing.T) {
	args := json.RawMessage(`{"path":"/very/secret","n":1}`)
	for _, tt := range []struct {
		name string
		call dispatch.CallInfo
		out  dispatch.Outcome
		want string
	}{
		{"a call", dispatch.CallInfo{Agent: dispatch.Agent{Principal: "ann", Session: "session-id", Client: "host"}, Action: "call", Connection: "c1", Tool: "files/read", Arguments: args},
			dispatch.Outcome{Connection: "files", Tool: "read", Bytes: 2048, Tokens: 600, Spilled: true},
			`level=INFO msg=request principal=ann session=4bdf1e15 client=host action=call connection=files tool=read arguments="{path: string(12), n: number}" bytes=2048 tokens=600 spilled=true ms=1500 outcome=ok`},
		{"an unknown tool", dispatch.CallInfo{Action: "call", Tool: "nope", Arguments: args}, dispatch.Outcome{Code: dispatch.UnknownTool},
			`level=INFO msg=request action=call tool=nope arguments="{path: string(12), n: number}" ms=1500 outcome=unknown_tool`},
		{"a server's own error", dispatch.CallInfo{Action: "call", Tool: "t"}, dispatch.Outcome{Connection: "s", Tool: "t", IsError: true, Bytes: 5, Tokens: 1},
			`level=INFO msg=request action=call connection=s tool=t bytes=5 tokens=1 ms=1500 outcome=tool_error`},
		{"kept data kept from a call", dispatch.CallInfo{Action: "call", Tool: "web/post"}, dispatch.Outcome{Connection: "web", Tool: "post", Code: dispatch.Denied, From: []string{"hr/people"}},
			`level=INFO msg=request action=call connection=web tool=post from=hr/people ms=1500 outcome=denied`},
		{"a search", dispatch.CallInfo{Action: "search"}, dispatch.Outcome{}, `level=DEBUG msg=request action=search ms=1500 outcome=ok`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b bytes.Buffer
				log, _, err := NewLogger(LogOptions{Level: "debug", Stderr: &b})
				if err != nil {
					t.Fatal(err)
				}
				ob := open(t, Options{Log: log})
				_, end := ob.Begin(context.Background(), tt.call)
				time.Sleep(1500 * time.Millisecond)
				end(tt.out)
				if err := ob.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				_, got, _ := strings.Cut(strings.TrimSpace(b.String()), " ")
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestShape(t *testing.T) {
	many := `{` + strings.Repeat(`"k":1,`, 40) + `"z":1}`
	for _, tt := range []struct{ name, data, want string }{
		{"flat", `{"a":"xyz","b":1,"c":true,"d":null}`, "{a: string(3), b: number, c: boolean, d: null}"},
		{"nested", `{"a":{"b":{"c":{"d":1}}}}`, "{a: {b: {c: {…}}}}"},
		{"lists", `{"a":[],"b":["x","y"],"c":[{"d":1}]}`, "{a: [0], b: [2 string(1)], c: [1 {d: number}]}"},
		{"odd keys", `{"a b":1,"x: y, z":2,"":3}`, `{"a b": number, "x: y, z": number, "": number}`},
		{"wide", many, "{" + strings.Repeat("k: number, ", 16) + "…}"},
		{"no object", `"secret"`, "string(6)"},
		{"invalid", `{"a":`, "invalid"},
		{"large", `"` + strings.Repeat("x", 2<<20) + `"`, "large(2097154)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Shape(json.RawMessage(tt.data)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// FuzzShape checks that no value of the arguments is in the shape and that it stays short.
func FuzzShape(f *testing.F) {
	f.Add([]byte(`{"a":["b",{"c":1.5}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := Shape(data)
		if len(got) > 4*(shapeBytes+shapeKeys*shapeName) {
			t.Errorf("shape of %d bytes", len(got))
		}
		wrapped, err := json.Marshal(map[string]string{"k": "value:" + string(data)})
		if err == nil && len(data) > 0 && strings.Contains(Shape(wrapped), "value:") {
			t.Errorf("shape shows a value: %s", Shape(wrapped))
		}
	})
}

func scrape(t *testing.T, ob *Observer) string {
	t.Helper()
	w := httptest.NewRecorder()
	ob.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestMetrics(t *testing.T) {
	ob := open(t, Options{
		Servers: func() []string { return []string{"files", "web"} }, MaxTools: 2, Version: "v1",
		State: func(s string) string { return map[string]string{"files": "ready", "web": "needs login"}[s] },
		Spill: func() (int, int64) { return 3, 4096 },
		Saved: func() int { return 1234 },
	})
	call := dispatch.CallInfo{Action: "call"}
	request(ob, call, dispatch.Outcome{Connection: "files", Tool: "read", Bytes: 100, Tokens: 25})
	request(ob, call, dispatch.Outcome{Connection: "files", Tool: "read", Bytes: 1000, Tokens: 250, Spilled: true})
	request(ob, call, dispatch.Outcome{Connection: "web", Tool: "get", IsError: true})
	request(ob, call, dispatch.Outcome{Connection: "web", Tool: "one-too-many"})
	request(ob, call, dispatch.Outcome{Connection: "made-up", Tool: "x"})
	request(ob, call, dispatch.Outcome{Code: dispatch.UnknownTool})
	request(ob, dispatch.CallInfo{Action: "made-up"}, dispatch.Outcome{})
	_, end := ob.Begin(t.Context(), call)
	got := scrape(t, ob)
	end(dispatch.Outcome{})
	for _, want := range []string{
		`proxy_dispatch_calls_total{connection="files",outcome="ok",tool="read"} 2`,
		`proxy_dispatch_calls_total{connection="web",outcome="tool_error",tool="get"} 1`,
		`proxy_dispatch_calls_total{connection="web",outcome="ok",tool="other"} 1`,
		`proxy_dispatch_calls_total{connection="other",outcome="ok",tool="other"} 1`,
		`proxy_dispatch_calls_total{connection="",outcome="unknown_tool",tool=""} 1`,
		`proxy_dispatch_requests_total{action="other",outcome="ok"} 1`,
		`proxy_dispatch_requests_in_flight 1`,
		`proxy_dispatch_request_duration_seconds_count{action="call",connection="files"} 2`,
		`proxy_dispatch_result_bytes_total{connection="files"} 1100`,
		`proxy_dispatch_result_tokens_total{connection="files",way="inline"} 25`,
		`proxy_dispatch_result_tokens_total{connection="files",way="spilled"} 250`,
		`proxy_dispatch_spilled_results_total{connection="files"} 1`,
		`proxy_dispatch_server_state{connection="files",state="ready"} 1`,
		`proxy_dispatch_server_state{connection="files",state="failing"} 0`,
		`proxy_dispatch_server_state{connection="web",state="needs login"} 1`,
		`proxy_dispatch_spill_files 3`,
		`proxy_dispatch_spill_bytes 4096`,
		`proxy_dispatch_tokens_saved 1234`,
		`proxy_dispatch_build_info{version="v1"} 1`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("metrics lack %s", want)
		}
	}
	if strings.Contains(got, "made-up") {
		t.Error("a made up name became a label")
	}
}

func TestConcurrentRequests(t *testing.T) {
	ob := open(t, Options{Servers: func() []string { return []string{"s"} }, MaxTools: 10})
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			request(ob, dispatch.CallInfo{Action: "call"}, dispatch.Outcome{Connection: "s", Tool: fmt.Sprint(i)})
			scrape(t, ob)
		})
	}
	wg.Wait()
	if n := strings.Count(scrape(t, ob), `proxy_dispatch_calls_total{connection="s"`); n != 11 {
		t.Errorf("got %d series of calls, want 10 tools and other", n)
	}
}

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestInjectWithoutTracing(t *testing.T) {
	ob := open(t, Options{})
	for _, tt := range []struct{ name, request, toServer, want string }{
		{"no meta at all", ``, ``, ``},
		{"nothing to add", `{"a":1}`, `{"a":1}`, `{"a":1}`},
		{"handed on", `{"traceparent":"` + parent + `","tracestate":"v=1"}`, ``, `{"traceparent":"` + parent + `","tracestate":"v=1"}`},
		{"beside what is there", `{"traceparent":"` + parent + `"}`, `{ "x": 12345678901234567890, "traceparent":"old","tracestate":"old" }`, `{"x":12345678901234567890,"traceparent":"` + parent + `"}`},
		{"no context", `{"traceparent":"rubbish"}`, `{"y":1}`, `{"y":1}`},
		{"no object", `{"traceparent":"` + parent + `"}`, `[1]`, `[1]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, end := ob.Begin(context.Background(), dispatch.CallInfo{Action: "call", Meta: json.RawMessage(tt.request)})
			got := ob.Inject(ctx, json.RawMessage(tt.toServer))
			end(dispatch.Outcome{})
			if string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestTracingOffCostsNothing(t *testing.T) {
	ob := open(t, Options{})
	meta := json.RawMessage(`{"progressToken":1}`)
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		same, span := ob.begin(ctx, dispatch.CallInfo{Meta: meta})
		ob.Inject(same, meta)
		span.end(dispatch.CallInfo{}, dispatch.Outcome{})
	}); n != 0 {
		t.Errorf("%v allocations per request", n)
	}
}

func TestSpans(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	var b bytes.Buffer
	ob, err := New(t.Context(), Options{Tracing: Tracing{Exporter: keep{exporter}}, Log: slog.New(slog.NewTextHandler(&b, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := ob.Begin(context.Background(), dispatch.CallInfo{Action: "call", Tool: "asked", Meta: json.RawMessage(`{"traceparent":"` + parent + `"}`)})
	sent := ob.Inject(ctx, nil)
	end(dispatch.Outcome{Connection: "s", Tool: "resolved", Code: dispatch.Timeout})
	if err := ob.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	spans := exporter.GetSpans()
	if len(spans) != 1 {
		t.Fatalf("got %d spans, want 1", len(spans))
	}
	s := spans[0]
	if s.Name != "proxy-dispatch call resolved" || s.Status.Code != codes.Error || s.Status.Description != "timeout" {
		t.Errorf("span is %s, %+v", s.Name, s.Status)
	}
	if got := s.SpanContext.TraceID().String(); got != parent[3:35] || s.Parent.SpanID().String() != parent[36:52] {
		t.Errorf("span is in trace %s under %s", got, s.Parent.SpanID())
	}
	if want := `{"traceparent":"00-` + parent[3:35] + "-" + s.SpanContext.SpanID().String() + `-01"}`; string(sent) != want {
		t.Errorf("to the server went %s, want %s", sent, want)
	}
	if !strings.Contains(b.String(), "trace="+parent[3:35]) {
		t.Errorf("the audit line does not name the trace: %s", b.String())
	}
}

// keep is an exporter that still has its spans after the shutdown.
type keep struct{ *tracetest.InMemoryExporter }

func (keep) Shutdown(context.Context) error { return nil }

func TestTracingFromEnv(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  map[string]string
		want bool
	}{
		{"nothing", nil, false},
		{"endpoint", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h"}, true},
		{"endpoint of traces", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://h"}, true},
		{"disabled", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", "OTEL_SDK_DISABLED": "true"}, false},
		{"no exporter", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", "OTEL_TRACES_EXPORTER": "none"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := TracingFromEnv(func(k string) (string, bool) { v, ok := tt.env[k]; return v, ok }); got.On != tt.want {
				t.Errorf("On = %v, want %v", got.On, tt.want)
			}
		})
	}
}

type stringer struct{ s string }

func (s stringer) String() string { return s.s }

type valuer struct{ s string }

func (v valuer) LogValue() slog.Value {
	return slog.GroupValue(slog.String("inner", v.s), slog.Int("n", 1))
}

// TestLogRedacts puts a secret wherever a log line can hold one.
func TestLogRedacts(t *testing.T) {
	const secret = "S3CRET-value"
	redact := func(s string) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, secret, "***"), "UzNDUkVULXZhbHVl", "***")
	}
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			var b bytes.Buffer
			log, _, err := NewLogger(LogOptions{Level: "debug", Format: format, Stderr: &b, Redact: redact})
			if err != nil {
				t.Fatal(err)
			}
			log = log.With("with", secret, slog.Group("g", "x", secret)).WithGroup("grp")
			log.Info("message "+secret,
				"string", "a "+secret, "error", fmt.Errorf("wrap: %w", errors.New(secret)), "bytes", []byte(secret), "raw", json.RawMessage(`"`+secret+`"`),
				"stringer", stringer{secret}, "valuer", valuer{secret}, "list", []string{secret}, "map", map[string]any{"k": []any{secret}},
				"struct", struct{ A []byte }{[]byte(secret)}, slog.Group("inner", "deep", secret), "number", 7, "plain", "kept")
			got := b.String()
			if strings.Contains(got, "S3CRET") || strings.Contains(got, "UzNDUkVU") {
				t.Errorf("log shows a secret: %s", got)
			}
			for _, want := range []string{"message ***", "kept", "7", "wrap: ***"} {
				if !strings.Contains(got, want) {
					t.Errorf("log lacks %q: %s", want, got)
				}
			}
		})
	}
}

func TestLogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "proxy.log")
	for i := range 2 {
		log, closer, err := NewLogger(LogOptions{File: path, Format: "json", Level: "warn"})
		if err != nil {
			t.Fatal(err)
		}
		log.Info("not written")
		log.Warn(fmt.Sprint("line ", i))
		if err := closer.Close(); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, []byte("\n")); n != 2 || bytes.Contains(data, []byte("not written")) {
		t.Errorf("file holds %s", data)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for _, bad := range []LogOptions{{Level: "loud"}, {Format: "xml"}, {File: filepath.Join(path, "below-a-file")}} {
		if _, _, err := NewLogger(bad); err == nil {
			t.Errorf("NewLogger(%+v) gave no error", bad)
		}
	}
}
