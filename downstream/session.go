package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// session is a connection after its handshake, or during it.
type session struct {
	conn
	client   ClientInfo
	changed  func(EventKind)
	hello    json.RawMessage // the raw initialize or discover result
	version  string
	modern   bool
	ids      atomic.Int64
	desk     progressDesk
	active   atomic.Int64 // calls under way
	lastWord atomic.Int64 // when the server last said something, Unix nanoseconds
	workers  sync.WaitGroup
}

// heard takes a notification from the connection.
func (s *session) heard(method string, params []byte) {
	s.touch()
	switch mcp.MCPMethod(method) {
	case "notifications/progress":
		s.desk.heard(params)
	case mcp.MethodNotificationToolsListChanged:
		s.changed(ToolsChanged)
	case mcp.MethodNotificationResourcesListChanged:
		s.changed(ResourcesChanged)
	case mcp.MethodNotificationPromptsListChanged:
		s.changed(PromptsChanged)
	}
}

func (s *session) touch() { s.lastWord.Store(time.Now().UnixNano()) }

// idleFor is how long the server has been silent and nothing was asked of it; 0 while a call runs.
func (s *session) idleFor() time.Duration {
	if s.active.Load() > 0 {
		return 0
	}
	return time.Since(time.Unix(0, s.lastWord.Load()))
}

// do sends one request of the outside. If ctx ends first the server is told.
func (s *session) do(ctx context.Context, r Request) (json.RawMessage, error) {
	id := s.ids.Add(1)
	own := s.ownMeta()
	if r.Progress != nil {
		token := wire.Own("progressToken", strconv.AppendInt(nil, id, 10))
		own = append([]wire.Member{token}, own...)
	}
	params, err := wire.WithMeta(r.Params, r.Meta, own)
	if err != nil {
		return nil, wire.Failed(NotSent, err)
	}
	s.active.Add(1)
	defer s.active.Add(-1)
	if r.Progress == nil {
		return s.send(ctx, id, r.Method, params)
	}
	finish := s.desk.open(id).deliverTo(r.Progress)
	result, err := s.send(ctx, id, r.Method, params)
	s.desk.close(id)
	finish(err != nil && ctx.Err() != nil)
	return result, err
}

// send puts the request on its way and tells the server if nobody waits for its answer any longer.
func (s *session) send(ctx context.Context, id int64, method string, params []byte) (json.RawMessage, error) {
	result, err := s.Call(ctx, id, method, params)
	if err == nil || wire.FateOf(err) == Ran {
		s.touch()
	}
	if err != nil && ctx.Err() != nil && wire.FateOf(err) == SentUnknown && s.hello != nil { // a handshake is not cancelled
		s.Notify("notifications/cancelled", wire.CancelParams(id, "the caller waits no longer"))
	}
	return result, err
}

// ask sends a request of our own, without anything in it but what the protocol wants.
func (s *session) ask(ctx context.Context, method string, params []byte) (json.RawMessage, error) {
	full, err := wire.WithMeta(params, nil, s.ownMeta())
	if err != nil {
		return nil, wire.Failed(NotSent, err)
	}
	return s.send(ctx, s.ids.Add(1), method, full)
}

// ownMeta is what every request carries where no handshake fixed it.
func (s *session) ownMeta() []wire.Member {
	if !s.modern {
		return nil
	}
	client, err := json.Marshal(s.client)
	if err != nil {
		panic(err) // two strings always marshal
	}
	return []wire.Member{
		wire.Own(mcp.MetaKeyProtocolVersion, rawjson.Quote(s.version)),
		wire.Own(mcp.MetaKeyClientInfo, client),
		wire.Own(mcp.MetaKeyClientCapabilities, []byte(`{}`)),
	}
}

// ping asks for a sign of life. Any answer is one, also an error.
func (s *session) ping(ctx context.Context, patience time.Duration) error {
	method := string(mcp.MethodPing)
	if s.modern { // which has no ping
		method = string(mcp.MethodServerDiscover)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := s.ask(ctx, method, nil)
	if err == nil || wire.FateOf(err) == Ran {
		return nil
	}
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return nil // somebody else ended it
	}
	return err
}

// end closes the connection and waits for what the session runs.
func (s *session) end() {
	s.conn.Close()
	s.workers.Wait()
}
