package downstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

const (
	listenAgain = 5 * time.Second // after a stream of changes ended; longer each time
	ackPatience = 2 * time.Second // with a server that does not acknowledge a subscription
	maxTopics   = 10_000          // resources of one server that are subscribed to
)

var errTopics = errors.New("too many resources are subscribed to")

// topics are what a server of the new era is asked to tell on its own: one request, repeated with another filter
// when that changes, and kept open in between.
type topics struct {
	changing sync.Mutex // held while the request is replaced
	uris     map[string]struct{}

	mu      sync.Mutex
	now     *listening
	pending *listening // is to follow it
}

// listening is one such request.
type listening struct {
	id     int64
	acked  chan struct{}
	over   chan struct{}
	err    error // why the server refused it; read after over
	cancel context.CancelFunc
}

// listen makes the server's words outside of calls heard.
func (s *session) listen() {
	if !s.modern {
		s.conn.Listen()
		return
	}
	s.topics.changing.Lock()
	defer s.topics.changing.Unlock()
	if filter := s.filter(); !filter.IsEmpty() {
		s.topics.now = s.startListening(filter)
	}
}

// subscribe adds a resource to what is listened for, or takes it away. It returns when the server acknowledged that.
func (s *session) subscribe(ctx context.Context, uri string, wanted bool) error {
	t := &s.topics
	t.changing.Lock()
	defer t.changing.Unlock()
	if _, had := t.uris[uri]; had == wanted {
		return nil
	}
	switch {
	case !wanted:
		delete(t.uris, uri)
	case len(t.uris) >= maxTopics:
		return wire.Failed(NotSent, errTopics)
	default:
		if t.uris == nil {
			t.uris = map[string]struct{}{}
		}
		t.uris[uri] = struct{}{}
	}
	var next *listening
	if filter := s.filter(); !filter.IsEmpty() {
		next = s.startListening(filter)
		if err := next.acknowledge(ctx); err != nil {
			next.cancel()
			if wanted {
				delete(t.uris, uri)
			}
			return err
		}
	}
	t.mu.Lock()
	before := t.now
	t.now, t.pending = next, nil
	t.mu.Unlock()
	if before != nil {
		before.cancel()
	}
	return nil
}

// acknowledge waits for the server to say that it listens.
func (l *listening) acknowledge(ctx context.Context) error {
	t := time.NewTimer(ackPatience)
	defer t.Stop()
	select {
	case <-l.acked:
	case <-t.C: // it may do so without saying it
	case <-l.over:
		return l.err
	case <-ctx.Done():
		return wire.Ended(ctx, SentUnknown, "subscribe")
	}
	return nil
}

// startListening asks, again and again until the session ends or the answer is no. The caller holds changing.
func (s *session) startListening(filter mcp.SubscriptionFilter) *listening {
	params, err := json.Marshal(struct {
		Notifications mcp.SubscriptionFilter `json:"notifications"`
	}{filter})
	if err != nil {
		panic(err) // strings and booleans always marshal
	}
	l := &listening{id: s.ids.Add(1), acked: make(chan struct{}), over: make(chan struct{})}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(s.Life())
	s.topics.mu.Lock()
	s.topics.pending = l
	s.topics.mu.Unlock()
	s.workers.Go(func() {
		defer l.cancel()
		defer close(l.over)
		for wait, id := listenAgain, l.id; ; wait, id = min(2*wait, time.Minute), s.ids.Add(1) {
			if _, err := s.askAs(ctx, id, string(mcp.MethodSubscriptionsListen), params); err != nil {
				l.err = err
				if _, answered := errors.AsType[*RPCError](err); answered {
					return // it has no such thing
				}
			}
			if !sleep(ctx, wait) {
				return
			}
		}
	})
	return l
}

// acknowledged hears that the server listens.
func (t *topics) acknowledged(params []byte) {
	id := string(bytes.Trim(rawjson.Member(rawjson.Member(params, "_meta"), mcp.MetaKeySubscriptionID), `"`))
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.pending; l != nil && id == string(wire.Number(l.id)) {
		t.pending = nil
		close(l.acked)
	}
}

// strip takes our own id of a subscription out of what it brought; true if there was one.
func (t *topics) strip(params json.RawMessage) (json.RawMessage, bool) {
	if !bytes.Contains(params, []byte(mcp.MetaKeySubscriptionID)) {
		return params, false
	}
	return wire.Without(params, "_meta", mcp.MetaKeySubscriptionID)
}

// filter is what the server declares to tell, and the resources that are subscribed to. The caller holds changing.
func (s *session) filter() mcp.SubscriptionFilter {
	var found struct {
		Capabilities struct {
			Tools, Resources, Prompts struct {
				ListChanged bool `json:"listChanged"`
			}
		} `json:"capabilities"`
	}
	_ = json.Unmarshal(s.hello, &found) // what can't be read declares nothing
	c := found.Capabilities
	return mcp.SubscriptionFilter{
		ToolsListChanged:      c.Tools.ListChanged,
		ResourcesListChanged:  c.Resources.ListChanged,
		PromptsListChanged:    c.Prompts.ListChanged,
		ResourceSubscriptions: slices.Sorted(maps.Keys(s.topics.uris)),
	}
}
