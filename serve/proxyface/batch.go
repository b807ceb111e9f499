package proxyface

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// step is one operation of a batch and what it gave.
type step struct {
	operation
	place place
	err   error
	gave  json.RawMessage // a complete result, annotated
}

// batch answers several operations at once: each on its own, calls eight at a time and all within one budget. Before the
// items of each stands a text that says whose they are, marked with proxyAction "batch".
func (f *Face) batch(ctx context.Context, u use, o operation) dispatch.Pieces {
	ctx, done := f.o.Dispatcher.Begin(ctx, dispatch.CallInfo{Agent: u.Agent, Action: actionBatch, Arguments: u.Arguments, Meta: u.Meta})
	steps := make([]step, len(o.operations))
	n := f.namesOf(f.o.Dispatcher.Seen(u.Agent))
	for i, raw := range o.operations {
		steps[i] = readStep(n, raw, o.kind, i)
	}
	if err := f.callAll(ctx, u, steps); err != nil {
		done(dispatch.Outcome{Code: codeOf(err)})
		return failure(err)
	}
	for i := range steps {
		if s := &steps[i]; s.gave == nil {
			s.gave = f.alone(ctx, u, s).Raw()
		}
	}
	answer := joined(steps)
	done(dispatch.Outcome{Bytes: int64(len(answer))})
	return dispatch.Pieces{answer}
}

// readStep reads one operation; one that can't be read fails alone. The batch's type stands for one it lacks.
func readStep(n *names, raw json.RawMessage, kind catalog.Kind, i int) step {
	s := step{}
	s.id = strconv.Itoa(i)
	obj, err := readObject(raw)
	if err == nil {
		if id, given := obj.Get("id"); given {
			s.id, obj = strings.Trim(string(id), `"`), obj.Delete("id")
		}
		if _, given := obj.Get("type"); !given && kind != "" {
			obj = obj.Set("type", rawjson.Quote(string(kind)))
		}
		raw = obj.Raw()
	}
	id := s.id
	s.operation, s.err = readOperation(raw)
	s.id = id
	switch {
	case s.err == nil && s.action == actionBatch:
		s.err = bad("a batch holds no batch")
	case s.err == nil && s.action == actionCall:
		s.place, s.err = n.locate(s.kind, s.path)
	}
	return s
}

// calls reports whether a step is a call of a server.
func (s *step) calls() bool {
	return s.err == nil && s.action == actionCall && !s.kept() && (s.place.offer == nil || s.place.offer.entry != nil)
}

// callAll makes the calls of a batch, so that one may use what another gives.
func (f *Face) callAll(ctx context.Context, u use, steps []step) error {
	q := dispatch.BatchRequest{Reader: readByCall}
	var who []*step
	for i := range steps {
		if s := &steps[i]; s.calls() {
			q.Calls, q.IDs, who = append(q.Calls, f.request(u, s.operation, s.place)), append(q.IDs, s.id), append(who, s)
		}
	}
	if len(who) == 0 {
		return nil
	}
	answer, err := f.o.Dispatcher.Batch(ctx, u.Agent, q)
	if err != nil {
		return err
	}
	for i, item := range answer.Items {
		s := who[i]
		if err := item.Failure(); err != nil {
			s.gave = f.failed(u, s.operation, err).Raw()
			continue
		}
		s.gave = f.annotated(s.operation, item.Result()).Raw()
	}
	return nil
}

// alone answers a step that is no call of a server.
func (f *Face) alone(ctx context.Context, u use, s *step) dispatch.Pieces {
	if s.err != nil && s.action == actionCall && s.path != "" {
		return f.refused(ctx, u, s.operation, s.err)
	}
	if s.err != nil {
		return failure(s.err)
	}
	inner := u
	inner.depth++
	inner.Relay, inner.Inputs, inner.State = false, nil, nil // a part of a batch can't be repeated
	return f.answer(ctx, inner, s.operation)
}

// header is the text before the items of a step.
func (s *step) header(word string, index arguments.Member) json.RawMessage {
	notes := arguments.Object{text("proxyAction", actionBatch)}
	words := []string{"[" + s.id + "]"}
	if s.action != "" {
		words = append(words, s.action)
	}
	if s.kind != "" {
		notes = append(notes, text("proxyType", string(s.kind)))
	}
	if s.path != "" {
		words, notes = append(words, s.path), append(notes, text("proxyPath", s.path))
	}
	return arguments.Object{text("type", "text"), text("text", strings.Join(append(words, word), " ")),
		{Key: "annotations", Value: append(notes, index).Raw()}}.Raw()
}

// joined puts what the steps gave into one result; what is not content of each stands in `_meta`.
func joined(steps []step) json.RawMessage {
	var blocks, about []json.RawMessage
	for i, s := range steps {
		index := value("proxyIndex", i)
		isError := string(rawjson.Member(s.gave, "isError")) == "true"
		word := "ok"
		if isError {
			word = "error"
		}
		blocks = append(blocks, s.header(word, index))
		count := 0
		for b := range rawjson.Elements(rawjson.Member(s.gave, "content")) {
			if marked := annotate(b, arguments.Object{index}); marked != nil {
				b = marked
			}
			blocks, count = append(blocks, b), count+1
		}
		entry := arguments.Object{text("id", s.id), text("action", s.action), value("isError", isError), value("items", count)}
		for _, key := range []string{"structuredContent", "_meta"} {
			if v := rawjson.Member(s.gave, key); v != nil {
				entry = append(entry, arguments.Member{Key: key, Value: v})
			}
		}
		about = append(about, entry.Raw())
	}
	operations := arguments.Object{{Key: "operations", Value: rawjson.Array(about)}}
	meta := arguments.Object{{Key: "proxy-dispatch", Value: operations.Raw()}}
	return arguments.Object{{Key: "content", Value: rawjson.Array(blocks)}, {Key: "_meta", Value: meta.Raw()}}.Raw()
}
