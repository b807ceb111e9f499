package dispatch

import (
	"context"
	"encoding/json"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
)

// after runs the hooks on a result in their order and adds what hooks had to say about the call to its `_meta`.
func (d *Dispatcher) after(ctx context.Context, x *crossing, sent, result json.RawMessage) (json.RawMessage, error) {
	for _, h := range d.hooksFor(x.agent, x.own.Entry.Ref, true) {
		v, err := d.runHook(ctx, h, x, sent, result)
		if err != nil {
			return nil, withFate(err, Ran)
		}
		if v.Result != nil {
			result = v.Result
		}
	}
	if x.meta == nil {
		return result, nil
	}
	return withHookMeta(result, x.meta), nil
}

// withHookMeta lays objects over the `_meta` of a result.
func withHookMeta(result json.RawMessage, over []json.RawMessage) json.RawMessage {
	obj, err := arguments.ParseObject(result)
	if err != nil {
		return result // it is not ours to repair
	}
	var meta arguments.Object
	if old, ok := obj.Get("_meta"); ok {
		meta, _ = arguments.ParseObject(old)
	}
	for _, raw := range over {
		added, err := arguments.ParseObject(raw)
		if err != nil {
			continue
		}
		for _, m := range added {
			meta = meta.Set(m.Key, m.Value)
		}
	}
	return obj.Set("_meta", meta.Raw()).Raw()
}
