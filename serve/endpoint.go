package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// How long a modern agent may keep our tool list. It is stable for as long as we run.
const (
	listTTLMillis = 300_000
	listScope     = mcp.CacheScopePrivate
)

// endpoint is one face made ready to be spoken to; both transports share it. It is safe for concurrent use.
type endpoint struct {
	face Face
	mcp  *server.MCPServer
	info json.RawMessage // serverInfo
	log  *slog.Logger
	gate *gate
}

// newEndpoint readies face; o has its defaults. Hooks may be nil.
func newEndpoint(o Options, face Face, hooks *server.Hooks) (*endpoint, error) {
	if face == nil {
		return nil, errors.New("serve: no face given")
	}
	options := []server.ServerOption{
		server.WithToolCapabilities(false),
		server.WithInstructions(face.Instructions(dispatch.Agent{})),
		server.WithCacheHints(listTTLMillis, listScope),
	}
	if hooks != nil {
		options = append(options, server.WithHooks(hooks))
	}
	info, err := json.Marshal(mcp.Implementation{Name: o.Name, Version: o.Version})
	if err != nil {
		return nil, fmt.Errorf("write serverInfo: %w", err)
	}
	return &endpoint{
		face: face,
		mcp:  server.NewMCPServer(o.Name, o.Version, options...),
		info: info,
		log:  o.Log,
		gate: newGate(o.MaxCalls, 2*o.MaxMessage),
	}, nil
}

// list answers tools/list from what the face knows now, in one page.
func (e *endpoint) list(params json.RawMessage) (parts, *Fault) {
	spoken, bad := readEra(rawjson.Member(params, "_meta"))
	if bad != nil {
		return nil, bad
	}
	if cursor := rawjson.Member(params, "cursor"); cursor != nil && string(cursor) != `""` && string(cursor) != "null" {
		return nil, faultf(mcp.INVALID_PARAMS, "unknown cursor: the list has one page")
	}
	tools := e.face.Tools(dispatch.Agent{})
	entries := make([][]byte, len(tools))
	for i, tool := range tools {
		entry, err := rawjson.OneLine(tool)
		if err != nil {
			e.log.Error("tool entry is not JSON", "index", i, "err", err)
			return nil, faultf(mcp.INTERNAL_ERROR, "the tool list cannot be written")
		}
		entries[i] = entry
	}
	result := fmt.Appendf(nil, `{"tools":[%s]}`, bytes.Join(entries, []byte{','}))
	if !spoken.modern {
		return parts{result}, nil
	}
	hints := fmt.Appendf(nil, `,"ttlMs":%d,"cacheScope":%q}`, listTTLMillis, string(listScope))
	return decorate(append(result[:len(result)-1], hints...), e.info), nil
}

// caller is who sent a call and how it is told of progress.
type caller struct {
	agent dispatch.Agent
	// write sends one notification; it is never called after call has returned.
	write func(line []byte)
}

// call answers tools/call. It waits while too many calls run, and returns early only if the face does
// once ctx ends.
func (e *endpoint) call(ctx context.Context, params json.RawMessage, who caller) (parts, *Fault) {
	asked, bad := readCall(params)
	if bad != nil {
		return nil, bad
	}
	spoken, bad := readEra(asked.meta)
	if bad != nil {
		return nil, bad
	}
	if spoken.client != "" {
		who.agent.Client = spoken.client
	}
	leave, bad := e.gate.enter(ctx, int64(len(params)))
	if bad != nil {
		return nil, bad
	}
	defer leave()
	progress, stop := progressTo(asked.meta, who.write)
	said, err := e.callFace(ctx, Call{Agent: who.agent, Name: asked.name, Arguments: asked.arguments, Params: params, Meta: asked.meta, Contact: dispatch.Contact{Progress: progress}})
	stop()
	if err != nil {
		return nil, faultOf(err)
	}
	result, err := oneLine(parts(said))
	if err != nil {
		e.log.Error("face returned no JSON object", "tool", asked.name, "bytes", parts(said).size(), "err", err)
		result = parts{internalResult}
	}
	if spoken.modern {
		return decorate(dispatch.Pieces(result).Raw(), e.info), nil
	}
	return result, nil
}

var errNoObject = errors.New("is not a JSON object")

// oneLine returns a result without line breaks: as it is, if there are none.
func oneLine(p parts) (parts, error) {
	for _, piece := range p {
		if bytes.IndexByte(piece, '\n') >= 0 || bytes.IndexByte(piece, '\r') >= 0 {
			raw, err := rawjson.OneLine(dispatch.Pieces(p).Raw())
			if err != nil {
				return nil, err
			}
			p = parts{bytes.TrimSpace(raw)}
			break
		}
	}
	if len(p) == 0 || len(p[0]) == 0 || p[0][0] != '{' {
		return nil, errNoObject
	}
	return p, nil
}

// internalResult is what an agent sees of a bug of ours; the log has the rest.
var internalResult = json.RawMessage(`{"content":[{"type":"text","text":"internal: the proxy failed while handling this call; its log says why. Sent, outcome unknown: check before repeating."}],"isError":true}`)

// callFace keeps a panic inside one call.
func (e *endpoint) callFace(ctx context.Context, c Call) (said dispatch.Pieces, err error) {
	defer func() {
		if p := recover(); p != nil {
			e.log.Error("call panicked", "tool", c.Name, "panic", p, "stack", string(debug.Stack()))
			said, err = dispatch.Pieces{internalResult}, nil
		}
	}()
	return e.face.Call(ctx, c)
}

// handle answers every method that is not ours through mcp-go. The id travels as a token of our own,
// since mcp-go would round large numbers. Nil means that there is nothing to answer.
func (e *endpoint) handle(ctx context.Context, m message) parts {
	if m.id == nil {
		_, _ = e.handleRaw(ctx, m.encode(nil)) // nobody waits for an answer; a panic is logged
		return nil
	}
	token := newToken()
	response, err := e.handleRaw(ctx, m.encode(token))
	if err == nil && response == nil {
		return nil
	}
	body, wrong := json.Marshal(response)
	if err = errors.Join(err, wrong); err != nil {
		e.log.Error("answer cannot be given", "method", m.method, "err", err)
		return faultAnswer(m.id, faultf(mcp.INTERNAL_ERROR, "%s failed inside the proxy", m.method))
	}
	return parts{bytes.ReplaceAll(body, token, m.id)}
}

var errPanicked = errors.New("handler panicked")

func (e *endpoint) handleRaw(ctx context.Context, raw json.RawMessage) (response mcp.JSONRPCMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			e.log.Error("protocol handler panicked", "panic", p, "stack", string(debug.Stack()))
			err = errPanicked
		}
	}()
	return e.mcp.HandleMessage(ctx, raw), nil
}

// progressTo returns what a call reports progress to, nil if the agent gave no token, and what ends it.
func progressTo(meta json.RawMessage, write func([]byte)) (report func(json.RawMessage), stop func()) {
	var token json.RawMessage
	if meta != nil {
		token = rawjson.Member(meta, "progressToken")
	}
	if token == nil || token[0] == 'n' || write == nil {
		return nil, func() {}
	}
	var mu sync.Mutex
	ended := false
	report = func(params json.RawMessage) {
		line := progressMessage(token, params)
		mu.Lock()
		defer mu.Unlock()
		if line != nil && !ended {
			write(line)
		}
	}
	stop = func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
	}
	return report, stop
}
