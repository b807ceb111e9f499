package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

// Tracing says whether and where spans go. The zero value is off; then a trace context that an agent
// sends is still handed on to the server.
type Tracing struct {
	// On exports spans by OTLP over HTTP. Where to, with which headers and limits, is read from the
	// OTEL_* variables by the exporter itself.
	On bool
	// Exporter, if set, takes the spans instead.
	Exporter sdktrace.SpanExporter
}

// TracingFromEnv turns tracing on when the environment names an endpoint for it and does not turn it
// off.
func TracingFromEnv(env func(string) (string, bool)) Tracing {
	value := func(name string) string { v, _ := env(name); return v }
	on := value("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || value("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
	if strings.EqualFold(value("OTEL_SDK_DISABLED"), "true") || strings.EqualFold(value("OTEL_TRACES_EXPORTER"), "none") {
		on = false
	}
	return Tracing{On: on}
}

type tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

func newTracer(ctx context.Context, o Options) (*tracer, error) {
	exporter := o.Tracing.Exporter
	if exporter == nil && !o.Tracing.On {
		return nil, nil
	}
	if exporter == nil {
		var err error
		if exporter, err = otlptracehttp.New(ctx); err != nil {
			return nil, fmt.Errorf("set up traces: %w", err)
		}
	}
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "proxy-dispatch"), attribute.String("service.version", o.Version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("set up traces: %w", err)
	}
	// The library reports failed exports only through its one global handler.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { o.Log.Warn("traces: " + err.Error()) }))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return &tracer{provider: provider, tracer: provider.Tracer("proxy-dispatch")}, nil
}

func (t *tracer) close(ctx context.Context) error {
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send traces: %w", err)
	}
	return nil
}

// span is a request's span; the zero value is none.
type span struct{ trace.Span }

// begin reads the agent's trace context and starts a span under it when tracing is on. When it is
// off and the agent sent none, ctx comes back untouched.
func (o *Observer) begin(ctx context.Context, c dispatch.CallInfo) (context.Context, span) {
	if bytes.Contains(c.Meta, []byte(`"traceparent"`)) && gjson.ValidBytes(c.Meta) {
		ctx = propagation.TraceContext{}.Extract(ctx, metaCarrier(c.Meta))
	}
	if o.tracer == nil {
		return ctx, span{}
	}
	ctx, s := o.tracer.tracer.Start(ctx, spanName(c.Action, c.Tool), trace.WithSpanKind(trace.SpanKindServer))
	return ctx, span{s}
}

// end names the span by what was resolved and says how the request ended.
func (s span) end(c dispatch.CallInfo, out dispatch.Outcome) {
	if s.Span == nil {
		return
	}
	if s.IsRecording() {
		s.SetName(spanName(c.Action, out.Tool))
		s.SetAttributes(attribute.String("proxy.action", clip(c.Action, 40)), attribute.String("proxy.outcome", outcome(out)))
		if out.Connection != "" {
			s.SetAttributes(attribute.String("proxy.connection", out.Connection), attribute.String("gen_ai.tool.name", out.Tool))
		}
		if out.Bytes > 0 {
			s.SetAttributes(attribute.Int64("proxy.result.bytes", out.Bytes), attribute.Bool("proxy.result.spilled", out.Spilled))
		}
		if out.Code != "" || out.IsError {
			s.SetStatus(codes.Error, outcome(out))
			s.SetAttributes(attribute.String("error.type", outcome(out)))
		}
	}
	s.End()
}

func spanName(action, tool string) string {
	name := "proxy-dispatch " + clip(action, 40)
	if tool != "" {
		name += " " + clip(tool, 100)
	}
	return name
}

// traceID returns the id of the trace that ctx belongs to, empty if none.
func traceID(ctx context.Context) string {
	if s := trace.SpanContextFromContext(ctx); s.HasTraceID() {
		return s.TraceID().String()
	}
	return ""
}

// metaCarrier reads trace context from a `_meta` object.
type metaCarrier json.RawMessage

// Get returns a text member, empty if there is none.
func (m metaCarrier) Get(key string) string {
	if v := gjson.GetBytes(m, key); v.Type == gjson.String {
		return v.String()
	}
	return ""
}

// Set does nothing: the carrier is read only.
func (metaCarrier) Set(string, string) {}

// Keys is never asked for by the one propagator in use.
func (metaCarrier) Keys() []string { return nil }

// inject writes the trace context of ctx into meta and keeps every other member as it was.
func inject(ctx context.Context, meta json.RawMessage) json.RawMessage {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return meta
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	members := gjson.ParseBytes(meta)
	if len(meta) > 0 && (!gjson.ValidBytes(meta) || !members.IsObject()) {
		return meta
	}
	var b bytes.Buffer
	b.WriteByte('{')
	members.ForEach(func(key, value gjson.Result) bool {
		if _, ours := carrier[key.String()]; !ours && key.String() != "tracestate" {
			separate(&b)
			b.WriteString(key.Raw + ":" + value.Raw)
		}
		return true
	})
	for _, key := range []string{"traceparent", "tracestate"} {
		if value, ok := carrier[key]; ok {
			encoded, err := json.Marshal(value)
			if err != nil {
				return meta
			}
			separate(&b)
			b.WriteString(`"` + key + `":` + string(encoded))
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}

func separate(b *bytes.Buffer) {
	if b.Len() > 1 {
		b.WriteByte(',')
	}
}
