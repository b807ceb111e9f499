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
		attrs = append(attrs, slog.String("arguments", Shape(c.Arguments)))
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
	o.lines.put(func() { o.log.LogAttrs(ctx, level, "request", attrs...) })
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
