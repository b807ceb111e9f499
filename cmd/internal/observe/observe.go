// Package observe records what happens to requests: log and audit lines, metrics, traces.
package observe

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

// Options of an Observer. The zero value records metrics only.
type Options struct {
	// Log receives one audit line per request: calls at level info, the rest at debug. Nil: none.
	Log *slog.Logger
	// Servers gives the connections that may stand in metric labels; any other is "other". Nil: none.
	Servers func() []string
	// MaxTools bounds the distinct connection and tool pairs in metric labels; more become "other".
	// Default 500.
	MaxTools int
	// State gives the state of a server when metrics are read. Nil: not shown.
	State func(server string) string
	// Spill gives what is kept of spilled results when metrics are read. Nil: not shown.
	Spill func() (files int, bytes int64)
	// Saved gives the tokens saved against showing every tool natively. Nil: not shown.
	Saved func() int
	// Tracing exports spans; the zero value exports none.
	Tracing Tracing
	// Version is the program's own.
	Version string
}

// Observer is the recorder of requests. It is safe for concurrent use. Audit lines are written by a
// goroutine of its own, which Close ends; a log's writer that stands still holds requests up once 1,024
// lines wait.
type Observer struct {
	log     *slog.Logger
	metrics *metrics
	tracer  *tracer // nil when tracing is off
	lines   *queue  // of audit lines
	closed  atomic.Bool
}

var _ dispatch.Recorder = (*Observer)(nil)

// New returns an Observer. The context bounds only the set-up of the exporter.
func New(ctx context.Context, o Options) (*Observer, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Servers == nil {
		o.Servers = func() []string { return nil }
	}
	if o.MaxTools == 0 {
		o.MaxTools = 500
	}
	tracer, err := newTracer(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Observer{log: o.Log, metrics: newMetrics(o), tracer: tracer, lines: newQueue()}, nil
}

// Begin starts the clock of a request, and its span when tracing is on. The function it returns
// stops both and writes the audit line; it must be called once.
func (o *Observer) Begin(ctx context.Context, c dispatch.CallInfo) (context.Context, func(dispatch.Outcome)) {
	start := time.Now()
	ctx, span := o.begin(ctx, c)
	o.metrics.inFlight.Inc()
	return ctx, func(out dispatch.Outcome) {
		took := time.Since(start)
		o.metrics.inFlight.Dec()
		o.metrics.record(c, out, took)
		o.audit(ctx, c, out, took)
		span.end(c, out)
	}
}

// Inject returns meta with the trace context of ctx, or meta itself when there is none.
func (o *Observer) Inject(ctx context.Context, meta json.RawMessage) json.RawMessage {
	return inject(ctx, meta)
}

// Close writes the audit lines and sends the spans that are still waiting, the spans as long as ctx
// lasts. Requests that end later are not traced.
func (o *Observer) Close(ctx context.Context) error {
	o.lines.close()
	if o.tracer == nil || o.closed.Swap(true) {
		return nil
	}
	return o.tracer.close(ctx)
}

// outcome names how a request ended: ok, tool_error for a server's own error, or the code.
func outcome(o dispatch.Outcome) string {
	switch {
	case o.Code != "":
		return string(o.Code)
	case o.IsError:
		return "tool_error"
	}
	return "ok"
}
