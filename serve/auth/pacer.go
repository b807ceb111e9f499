package auth

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// pacer gives the last answer again when it is asked too soon: a token with an unknown key makes the keys be fetched,
// and anybody can send such tokens. It is safe for concurrent use.
type pacer struct {
	next http.RoundTripper // nil means the default
	now  func() time.Time

	mu   sync.Mutex
	last time.Time
	body []byte // nil: nothing good was fetched yet
}

var errTooSoon = errors.New("the keys could not be fetched a moment ago")

// RoundTrip implements http.RoundTripper for GET requests of one address.
func (p *pacer) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); now.Sub(p.last) >= fetchPause {
		p.last = now
		body, err := p.fetch(r)
		if err != nil {
			return nil, err
		}
		p.body = body
	}
	if p.body == nil {
		return nil, errTooSoon
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(p.body)),
		ContentLength: int64(len(p.body)), Request: r,
	}, nil
}

func (p *pacer) fetch(r *http.Request) ([]byte, error) {
	next := p.next
	if next == nil {
		next = http.DefaultTransport
	}
	answer, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("keys: %s", answer.Status)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxFetched+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxFetched {
		return nil, fmt.Errorf("keys: more than %d bytes", maxFetched)
	}
	return body, nil
}
