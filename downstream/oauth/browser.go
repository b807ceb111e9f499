package oauth

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Callback waits on a loopback address for a browser to come back from an authorization server.
type Callback struct {
	// URL is where the browser is to come back to.
	URL string

	listener net.Listener
	server   *http.Server
	answers  chan url.Values
	ended    chan struct{}
}

// callbackPath is where a browser comes back to.
const callbackPath = "/callback"

// ListenForBrowser opens a callback on 127.0.0.1; port 0 takes a free one. Close ends it.
func ListenForBrowser(port int) (*Callback, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, fmt.Errorf("wait for the browser: %w", err)
	}
	c := &Callback{URL: "http://" + listener.Addr().String() + callbackPath, listener: listener, answers: make(chan url.Values, 1), ended: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+callbackPath, c.take)
	c.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() {
		defer close(c.ended)
		_ = c.server.Serve(listener) // ends with Close
	}()
	return c, nil
}

// take keeps the first answer.
func (c *Callback) take(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	select {
	case c.answers <- q:
	default:
	}
	words := "You are logged in. You can close this page."
	if q.Get("code") == "" {
		words = "The login failed: " + q.Get("error") + " " + q.Get("error_description")
	}
	fmt.Fprintf(w, "<!doctype html><title>proxy-dispatch</title><p>%s</p>", html.EscapeString(words))
}

// Wait returns what the browser brought back.
func (c *Callback) Wait(ctx context.Context) (Answer, error) {
	select {
	case q := <-c.answers:
		return answerOf(q)
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("wait for the browser: %w", ctx.Err())
	}
}

// Close ends the callback and waits for it.
func (c *Callback) Close() {
	_ = c.server.Close()
	<-c.ended
}

// Pasted reads the address a browser came back to, for a person whose browser runs on another machine.
func Pasted(address string) (Answer, error) {
	u, err := url.Parse(address)
	if err != nil || u.RawQuery == "" {
		return Answer{}, errors.New("this is not the address the browser came back to: it has ?code=…")
	}
	return answerOf(u.Query())
}

func answerOf(q url.Values) (Answer, error) {
	if q.Get("code") == "" {
		return Answer{}, fmt.Errorf("the authorization server refused: %.80s %.200s", q.Get("error"), q.Get("error_description"))
	}
	return Answer{Code: q.Get("code"), State: q.Get("state"), Issuer: q.Get("iss")}, nil
}
