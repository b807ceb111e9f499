package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// maxQuestions bounds the questions one call has open at once.
const maxQuestions = 16

// questions are what one call wants to know of its agent. The zero value is ready; it is safe for concurrent use.
type questions struct {
	mu   sync.Mutex
	last int
	open []*question // oldest first
}

type question struct {
	key    string
	line   []byte // the member of inputRequests
	answer chan questionAnswer
}

type questionAnswer struct {
	result json.RawMessage
	err    error
}

// ask waits until the agent has brought an answer.
func (r *round) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	r.mu.Lock()
	able := r.capabilities
	r.mu.Unlock()
	if err := refusal(able, method, params); err != nil {
		return nil, err
	}
	q := r.questions.add(method, params)
	if q == nil {
		return nil, serverFault(overloaded, "%d questions of this call are open already", maxQuestions)
	}
	defer r.questions.remove(q)
	r.ring()
	select {
	case a := <-q.answer:
		return a.result, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("ask the agent: %w", context.Cause(ctx))
	}
}

func (r *round) ring() {
	select {
	case r.asked <- struct{}{}:
	default:
	}
}

// resume hands over what the agent brought with its repeated request; what is lacking will be asked again.
func (r *round) resume(inputs, capabilities json.RawMessage) {
	r.mu.Lock()
	r.capabilities = capabilities
	r.mu.Unlock()
	if r.questions.answered(inputs) {
		r.ring()
	}
}

func (qs *questions) add(method string, params json.RawMessage) *question {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if len(qs.open) >= maxQuestions {
		return nil
	}
	qs.last++
	q := &question{key: "q" + strconv.Itoa(qs.last), answer: make(chan questionAnswer, 1)}
	q.line = fmt.Appendf(nil, `%q:{"method":%s`, q.key, rawjson.Quote(method))
	if isObject(params) {
		q.line = append(append(q.line, `,"params":`...), rawjson.Compact(params)...)
	}
	q.line = append(q.line, '}')
	qs.open = append(qs.open, q)
	return q
}

func (qs *questions) remove(q *question) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for i, other := range qs.open {
		if other == q {
			qs.open = append(qs.open[:i:i], qs.open[i+1:]...)
			return
		}
	}
}

// all writes the open questions as inputRequests; nil if there are none.
func (qs *questions) all() []byte {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if len(qs.open) == 0 {
		return nil
	}
	var lines [][]byte
	for _, q := range qs.open {
		lines = append(lines, q.line)
	}
	return append(append([]byte{'{'}, bytes.Join(lines, []byte{','})...), '}')
}

// answered takes the agent's answers and says whether questions are left. What is no object answers nothing.
func (qs *questions) answered(inputs json.RawMessage) (left bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	var open []*question
	for _, q := range qs.open {
		if result := rawjson.Member(inputs, q.key); isObject(result) {
			q.answer <- questionAnswer{result: result}
			continue
		}
		open = append(open, q)
	}
	qs.open = open
	return len(open) > 0
}

// refuse answers all open questions with an error.
func (qs *questions) refuse(err error) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for _, q := range qs.open {
		q.answer <- questionAnswer{err: err}
	}
	qs.open = nil
}
