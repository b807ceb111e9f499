package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
)

// LogOptions say where log lines go and how they look.
type LogOptions struct {
	Level  string // debug, info, warn, error; default info
	Format string // text (default) or json
	// File is appended to, made with mode 0600 (its folder 0700) if it is not there. "" = Stderr.
	File string
	// Stderr is where lines go without a file; default os.Stderr.
	Stderr io.Writer
	// Redact is applied to every message and every text in an attribute; nil changes nothing.
	Redact func(string) string
}

// NewLogger returns a logger and what closes its file.
func NewLogger(o LogOptions) (*slog.Logger, io.Closer, error) {
	var level slog.Level
	if o.Level != "" {
		if err := level.UnmarshalText([]byte(o.Level)); err != nil {
			return nil, nil, fmt.Errorf("open log: %w", err)
		}
	}
	out, closer := o.Stderr, io.NopCloser(nil)
	if out == nil {
		out = os.Stderr
	}
	if o.File != "" {
		if err := os.MkdirAll(filepath.Dir(o.File), 0o700); err != nil {
			return nil, nil, fmt.Errorf("open log: %w", err)
		}
		file, err := os.OpenFile(o.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, fmt.Errorf("open log: %w", err)
		}
		out, closer = file, file
	}
	var handler slog.Handler
	switch options := (&slog.HandlerOptions{Level: level}); o.Format {
	case "", "text":
		handler = slog.NewTextHandler(out, options)
	case "json":
		handler = slog.NewJSONHandler(out, options)
	default:
		_ = closer.Close()
		return nil, nil, fmt.Errorf("open log: unknown format %q", o.Format)
	}
	if o.Redact != nil {
		handler = redacting{handler, o.Redact}
	}
	return slog.New(handler), closer, nil
}

// redacting is a handler that lets no secret through to the next one.
type redacting struct {
	next   slog.Handler
	redact func(string) string
}

// Enabled asks the next handler.
func (r redacting) Enabled(ctx context.Context, level slog.Level) bool {
	return r.next.Enabled(ctx, level)
}

// Handle passes on a record with message and attributes redacted.
func (r redacting) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, r.redact(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(r.attr(a))
		return true
	})
	return r.next.Handle(ctx, clean)
}

// WithAttrs redacts the attributes now, once for all records.
func (r redacting) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = r.attr(a)
	}
	return redacting{r.next.WithAttrs(clean), r.redact}
}

// WithGroup passes the group on.
func (r redacting) WithGroup(name string) slog.Handler {
	return redacting{r.next.WithGroup(name), r.redact}
}

func (r redacting) attr(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(r.redact(a.Value.String()))
	case slog.KindGroup:
		members := a.Value.Group()
		clean := make([]slog.Attr, len(members))
		for i, m := range members {
			clean[i] = r.attr(m)
		}
		a.Value = slog.GroupValue(clean...)
	case slog.KindAny:
		a.Value = r.any(a.Value.Any())
	}
	return a
}

// any keeps a value that holds no secret in any of its written forms, and turns another into text.
func (r redacting) any(v any) slog.Value {
	switch t := v.(type) {
	case error:
		return slog.StringValue(r.redact(t.Error()))
	case []byte:
		return slog.StringValue(r.redact(string(t)))
	case json.RawMessage:
		return slog.StringValue(r.redact(string(t)))
	case fmt.Stringer:
		return slog.StringValue(r.redact(t.String()))
	}
	text := fmt.Sprintf("%+v", v)
	if clean := r.redact(text); clean != text {
		return slog.StringValue(clean)
	}
	if data, err := json.Marshal(v); err == nil {
		if clean := r.redact(string(data)); clean != string(data) {
			return slog.StringValue(clean)
		}
	}
	return slog.AnyValue(v)
}
