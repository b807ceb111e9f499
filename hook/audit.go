package hook

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Audit writes one line to log for each call: who called what, with arguments of which names and sizes, what came of
// it and how long it took. No value of an argument or result is in it.
func Audit(log *slog.Logger) dispatch.Hook {
	return dispatch.HookFunc(func(ctx context.Context, c dispatch.HookCall) (dispatch.Verdict, error) {
		who := []any{"principal", c.Agent.Principal, "view", c.Agent.View, "client", c.Agent.Client, "server", c.Ref.Server, "tool", c.Ref.Name, "arguments", sizes(c.Arguments)}
		if c.Result != nil {
			log.InfoContext(ctx, "result", append(who, "bytes", len(c.Result), "isError", string(rawjson.Member(c.Result, "isError")) == "true")...)
			return dispatch.Verdict{}, nil
		}
		start := time.Now()
		return dispatch.Verdict{Done: func(result json.RawMessage, err error) {
			who = append(who, "ms", time.Since(start).Milliseconds(), "bytes", len(result), "isError", string(rawjson.Member(result, "isError")) == "true")
			if err != nil {
				who = append(who, "failed", true)
			}
			log.InfoContext(ctx, "call", who...)
		}}, nil
	})
}

// sizes are the names of the arguments with the bytes of their values.
func sizes(args json.RawMessage) slog.Value {
	var out []slog.Attr
	for key, v := range rawjson.Members(args) {
		if len(out) == 50 {
			break
		}
		out = append(out, slog.Int(key, len(v)))
	}
	return slog.GroupValue(out...)
}
