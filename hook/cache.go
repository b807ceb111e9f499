package hook

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// CacheOptions say what is remembered.
type CacheOptions struct {
	TTL     time.Duration // how long an answer is good
	Keys    []string      // the arguments that make two calls the same; none means all
	Entries int           // answers kept; 0 means 1,000
	Bytes   int64         // of all answers kept; 0 means 64 MiB
	Shared  bool          // principals share answers; else each has its own
}

// Cache answers a call of a tool that declares readOnlyHint or idempotentHint with the answer to an earlier one of the
// same arguments. Errors are not remembered.
func Cache(o CacheOptions) dispatch.Hook {
	if o.Entries <= 0 {
		o.Entries = 1000
	}
	if o.Bytes <= 0 {
		o.Bytes = 64 << 20
	}
	return &cache{o: o, known: map[[32]byte]*list.Element{}, order: list.New()}
}

type cache struct {
	o CacheOptions

	mu    sync.Mutex
	known map[[32]byte]*list.Element
	order *list.List // of *kept, the last used first
	bytes int64
}

type kept struct {
	key    [32]byte
	result json.RawMessage
	until  time.Time
}

// Run answers from memory, or remembers what the server will say.
func (c *cache) Run(_ context.Context, call dispatch.HookCall) (dispatch.Verdict, error) {
	if !call.ReadOnly && !call.Idempotent {
		return dispatch.Verdict{}, nil
	}
	key := c.key(call)
	if found := c.get(key, time.Now()); found != nil {
		return dispatch.Verdict{Result: found, Meta: json.RawMessage(`{"proxy-dispatch/cached":true}`)}, nil
	}
	return dispatch.Verdict{Done: func(result json.RawMessage, err error) {
		if err == nil && rawjson.Member(result, "resultType") == nil && string(rawjson.Member(result, "isError")) != "true" {
			c.put(key, result, time.Now())
		}
	}}, nil
}

// key is what two calls have in common that get one answer. The order of keys in the arguments does not count.
func (c *cache) key(call dispatch.HookCall) [32]byte {
	parts := []string{call.Ref.Server, string(call.Ref.Kind), call.Ref.Name}
	if !c.o.Shared {
		parts = append(parts, call.Agent.Principal, call.Agent.Role)
		if call.Agent.Principal == "" { // nobody knows that two sessions are one agent's
			parts = append(parts, call.Agent.Session)
		}
	}
	var args []string
	for key, v := range rawjson.Members(call.Arguments) {
		if len(c.o.Keys) == 0 || slices.Contains(c.o.Keys, key) {
			args = append(args, string(rawjson.Quote(key))+string(rawjson.Compact(v)))
		}
	}
	slices.Sort(args)
	for i, p := range parts {
		parts[i] = string(rawjson.Quote(p))
	}
	return sha256.Sum256([]byte(strings.Join(append(parts, args...), "\n")))
}

func (c *cache) get(key [32]byte, now time.Time) json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.known[key]
	if at == nil {
		return nil
	}
	k := at.Value.(*kept)
	if now.After(k.until) {
		c.drop(at)
		return nil
	}
	c.order.MoveToFront(at)
	return k.result
}

func (c *cache) put(key [32]byte, result json.RawMessage, now time.Time) {
	size := int64(len(result))
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.known[key]; at != nil {
		c.drop(at)
	}
	if size > c.o.Bytes/4 {
		return
	}
	c.known[key] = c.order.PushFront(&kept{key, slices.Clone(result), now.Add(c.o.TTL)})
	c.bytes += size
	for c.order.Len() > c.o.Entries || c.bytes > c.o.Bytes {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(at *list.Element) {
	k := c.order.Remove(at).(*kept)
	delete(c.known, k.key)
	c.bytes -= int64(len(k.result))
}
