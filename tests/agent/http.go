package agent

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// web posts each message and reads the answer, a JSON body or an event stream.
type web struct {
	a       *Agent
	url     string
	header  http.Header
	mu      sync.Mutex
	session string
	running sync.WaitGroup
}

// Dial speaks streamable HTTP to url; header is sent with every request and may be nil.
func Dial(url string, header http.Header) *Agent {
	a := newAgent()
	a.carrier = &web{a: a, url: url, header: header}
	return a
}

func (w *web) send(ctx context.Context, line []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(line))
	if err != nil {
		return err
	}
	for k, v := range w.header {
		r.Header[k] = v
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w.mu.Lock()
	if w.session != "" {
		r.Header.Set("Mcp-Session-Id", w.session)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	w.mu.Unlock()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	if s := resp.Header.Get("Mcp-Session-Id"); s != "" {
		w.mu.Lock()
		w.session = s
		w.mu.Unlock()
	}
	if resp.StatusCode >= 400 {
		defer resp.Body.Close()
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return fmt.Errorf("http status %d: %s", resp.StatusCode, b)
	}
	w.running.Go(func() { w.read(resp) })
	return nil
}

// Listen opens the stream of what belongs to no request, over HTTP, and reads it until ctx ends.
func (a *Agent) Listen(ctx context.Context) error {
	w := a.carrier.(*web)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	w.mu.Lock()
	r.Header.Set("Mcp-Session-Id", w.session)
	w.mu.Unlock()
	r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 400 {
		defer resp.Body.Close()
		return fmt.Errorf("http status %d", resp.StatusCode)
	}
	w.running.Go(func() { w.read(resp) })
	return nil
}

func (w *web) read(resp *http.Response) {
	defer resp.Body.Close()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		b, err := io.ReadAll(resp.Body)
		if b = bytes.TrimSpace(b); err == nil && len(b) > 0 {
			w.a.receive(b)
		}
		return
	}
	r := bufio.NewReaderSize(resp.Body, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(bytes.TrimSpace(data)) > 0 {
			w.a.receive(bytes.TrimSpace(data))
		}
		if err != nil {
			return
		}
	}
}

func (w *web) close() error {
	w.mu.Lock()
	session := w.session
	w.mu.Unlock()
	if session != "" {
		if r, err := http.NewRequest(http.MethodDelete, w.url, nil); err == nil {
			r.Header.Set("Mcp-Session-Id", session)
			if resp, err := http.DefaultClient.Do(r); err == nil {
				_ = resp.Body.Close()
			}
		}
	}
	w.running.Wait()
	return nil
}
