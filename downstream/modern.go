package downstream

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// ownMeta is what every request carries where no handshake fixed it; r is nil for requests of our own. Capabilities
// that the request names itself are those of the agent behind it, and stay.
func (s *session) ownMeta(r *Request) []wire.Member {
	if !s.modern {
		return nil
	}
	client, err := json.Marshal(s.client.Info)
	if err != nil {
		panic(err) // two strings always marshal
	}
	own := []wire.Member{
		wire.Own(mcp.MetaKeyProtocolVersion, rawjson.Quote(s.version)),
		wire.Own(mcp.MetaKeyClientInfo, client),
	}
	if level := s.level.Load(); r != nil && level != nil && rawjson.Member(r.Meta, mcp.MetaKeyLogLevel) == nil {
		own = append(own, wire.Own(mcp.MetaKeyLogLevel, *level))
	}
	answers := r != nil && (r.Ask != nil || r.Relay)
	if answers && rawjson.Member(r.Meta, mcp.MetaKeyClientCapabilities) != nil {
		return own
	}
	capabilities := json.RawMessage(`{}`)
	switch {
	case answers && len(r.Capabilities) > 0:
		capabilities = rawjson.Compact(r.Capabilities)
	case r != nil && len(r.Capabilities) > 0:
		capabilities = unaskable(r.Capabilities)
	case (answers || r != nil && s.outside != nil) && len(s.client.Capabilities) > 0:
		capabilities = s.client.Capabilities
	}
	return append(own, wire.Own(mcp.MetaKeyClientCapabilities, capabilities))
}

// unaskable are the capabilities of an agent that can't be asked anything while its request runs.
func unaskable(capabilities json.RawMessage) json.RawMessage {
	out := []byte{'{'}
	for key, v := range rawjson.Members(capabilities) {
		if key == "roots" || key == "sampling" || key == "elicitation" {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, rawjson.Quote(key)...), ':'), rawjson.Compact(v)...)
	}
	return append(out, '}')
}

// translated does for a server of the new era what a method of the old one did that is no more; false if it is none.
func (s *session) translated(ctx context.Context, r *Request) (result json.RawMessage, done bool, err error) {
	switch mcp.MCPMethod(r.Method) {
	case mcp.MethodPing:
		return json.RawMessage(`{}`), true, nil
	case mcp.MethodSetLogLevel:
		if level := rawjson.Member(r.Params, "level"); level != nil {
			s.level.Store(&level)
		}
		return json.RawMessage(`{}`), true, nil
	case mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
		uri := rawjson.Unquote(rawjson.Member(r.Params, "uri"))
		err := s.subscribe(ctx, uri, r.Method == string(mcp.MethodResourcesSubscribe))
		return json.RawMessage(`{}`), true, err
	}
	return nil, false, nil
}
