package observe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"strings"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

// audit writes one line about a request: who, what, how it ended, never a value of an argument.
func (o *Observer) audit(ctx context.Context, c dispatch.CallInfo, out dispatch.Outcome, took time.Duration) {
	level := slog.LevelDebug
	if c.Action == "call" || c.Action == "batch" || c.Action == "run" {
		level = slog.LevelInfo
	}
	if !o.log.Enabled(ctx, level) {
		return
	}
	shape := ""
	if len(c.Arguments) > keptArguments { // a line that waits must not hold on to them
		shape, c.Arguments = Shape(c.Arguments), nil
	}
	o.lines.put(func() { o.log.LogAttrs(ctx, level, "request", auditAttrs(ctx, c, out, took, shape)...) })
}

// keptArguments is the most bytes of arguments that a waiting line holds on to.
const keptArguments = 16 << 10

// auditAttrs are what a line says; shape is that of the arguments, if it was taken already. They are made when the line is
// written, which no agent waits for.
func auditAttrs(ctx context.Context, c dispatch.CallInfo, out dispatch.Outcome, took time.Duration, shape string) []slog.Attr {
	connection, tool := out.Connection, out.Tool
	if connection == "" {
		connection = c.Connection
	}
	if tool == "" {
		tool = c.Tool
	}
	attrs := make([]slog.Attr, 0, 15)
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, clip(value, 200)))
		}
	}
	add("principal", c.Agent.Principal)
	add("session", sessionName(c.Agent.Session))
	add("client", c.Agent.Client)
	add("action", c.Action)
	add("connection", connection)
	add("tool", tool)
	if len(c.Arguments) > 0 {
		shape = Shape(c.Arguments)
	}
	if shape != "" {
		attrs = append(attrs, slog.String("arguments", shape))
	}
	if out.Bytes > 0 {
		attrs = append(attrs, slog.Int64("bytes", out.Bytes))
	}
	if out.Tokens > 0 { // results that are passed on whole are not counted
		attrs = append(attrs, slog.Int("tokens", out.Tokens))
	}
	if len(out.From) > 0 {
		add("from", strings.Join(out.From, ", "))
	}
	if out.Spilled {
		attrs = append(attrs, slog.Bool("spilled", true))
	}
	attrs = append(attrs, slog.Float64("ms", float64(took.Microseconds())/1000))
	add("outcome", outcome(out))
	add("trace", traceID(ctx))
	return attrs
}

// sessionName tells sessions apart without giving away an id that could be used to join one.
func sessionName(id string) string {
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:4])
}

// clip cuts s to at most n bytes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
