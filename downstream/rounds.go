package downstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

const (
	maxRounds  = 20 // of one request
	maxRetries = 5  // rounds in a row in which nothing was asked
	maxInputs  = 64 // of one round
	firstRetry = 25 * time.Millisecond
)

// inputs are what a server of the new era wants to know before it goes on.
type inputs struct {
	requests []wire.Member   // each {"method", "params"}
	state    json.RawMessage // nil if absent
}

// wantsInput reads a result that asks for input; false if it is another one.
func wantsInput(result json.RawMessage) (in inputs, ok bool) {
	if !bytes.Contains(result, []byte(`"input_required"`)) {
		return in, false
	}
	for key, value := range rawjson.Members(result) {
		switch key {
		case "resultType":
			ok = rawjson.Unquote(value) == "input_required"
		case "inputRequests":
			in.requests = wire.Members(value)
		case "requestState":
			in.state = value
		}
	}
	return in, ok
}

// rounds answers what a server of the new era asks, until it has a result.
func (s *session) rounds(ctx context.Context, k *clock, r *Request, result json.RawMessage) (json.RawMessage, error) {
	idle := 0
	for n := 0; ; n++ {
		in, more := wantsInput(result)
		if !more {
			return result, nil
		}
		if len(in.requests) > 0 {
			idle = 0
		} else {
			idle++
		}
		if n >= maxRounds || idle > maxRetries || len(in.requests) > maxInputs {
			return nil, wire.Failed(Ran, fmt.Errorf("the server asks for input without end (%d rounds)", n))
		}
		answers, err := s.inputs(ctx, k, r, in)
		if err != nil {
			return nil, err
		}
		if len(in.requests) == 0 && !sleep(ctx, firstRetry<<idle) { // it only wants to be asked again
			return nil, wire.Ended(ctx, SentUnknown, "the server asks for patience")
		}
		params, err := wire.WithMembers(r.Params, answers)
		if err != nil {
			return nil, wire.Failed(Ran, err)
		}
		if result, err = s.once(ctx, k, r, params); err != nil {
			return nil, err
		}
	}
}

// inputs asks for all inputs of a round at once and gives the members that the next request carries.
func (s *session) inputs(ctx context.Context, k *clock, r *Request, in inputs) ([]wire.Member, error) {
	ask := r.Ask
	if ask == nil {
		ask = s.outside
	}
	asking, cancel := context.WithTimeout(ctx, s.asking)
	defer cancel()
	defer context.AfterFunc(s.Life(), cancel)()
	resume := k.pause()
	answers := make([]wire.Member, len(in.requests))
	errs := make([]error, len(in.requests))
	var all sync.WaitGroup
	for i, member := range in.requests {
		all.Go(func() {
			var result json.RawMessage
			if result, errs[i] = input(asking, ask, member.Value()); errs[i] != nil {
				cancel()
			}
			answers[i] = member.With(result)
		})
	}
	all.Wait()
	resume()
	if ctx.Err() != nil {
		return nil, wire.Ended(ctx, SentUnknown, "the server asked for input")
	}
	if err := first(errs); err != nil { // in words only: it is no error of the server
		return nil, wire.Failed(Ran, fmt.Errorf("the server asks for input, %s", err))
	}
	var out []wire.Member
	if len(answers) > 0 {
		out = append(out, wire.Own("inputResponses", wire.Object(answers)))
	}
	if in.state != nil {
		out = append(out, wire.Own("requestState", in.state))
	}
	return out, nil
}

// first is the error that came first: the others were cancelled for it.
func first(errs []error) error {
	var found error
	for _, err := range errs {
		if err != nil && (found == nil || errors.Is(found, context.Canceled)) {
			found = err
		}
	}
	return found
}

// input asks for one input.
func input(ctx context.Context, ask askFunc, request json.RawMessage) (json.RawMessage, error) {
	var method string
	var params json.RawMessage
	for key, value := range rawjson.Members(request) {
		switch key {
		case "method":
			method = rawjson.Unquote(value)
		case "params":
			params = value
		}
	}
	switch mcp.MCPMethod(method) {
	case mcp.MethodElicitationCreate, mcp.MethodSamplingCreateMessage, mcp.MethodListRoots:
	default:
		return nil, fmt.Errorf("no input is of the kind %q", wire.Clip(method, 60))
	}
	if ask == nil {
		return nil, fmt.Errorf("nobody can be asked (%s)", method)
	}
	result, err := ask(ctx, method, params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return result, nil
}
