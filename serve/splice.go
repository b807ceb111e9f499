package serve

import (
	"bytes"
	"net/http"
)

// splicer is a ResponseWriter that puts an agent's id, as spelled, in place of the token that stood
// for it inside mcp-go. It finds tokens cut in two by Write; finish must be called at the end.
type splicer struct {
	http.ResponseWriter
	token, id []byte
	held      []byte // the end of what was written, which may be the beginning of a token
}

// WriteHeader drops a length that was counted with the token.
func (s *splicer) WriteHeader(status int) {
	s.Header().Del("Content-Length")
	s.ResponseWriter.WriteHeader(status)
}

// Write passes p on as far as it cannot be part of a token.
func (s *splicer) Write(p []byte) (int, error) {
	text := append(s.held, p...)
	var ready []byte
	for {
		at := bytes.Index(text, s.token)
		if at < 0 {
			break
		}
		ready = append(append(ready, text[:at]...), s.id...)
		text = text[at+len(s.token):]
	}
	sure := len(text) - overlap(text, s.token)
	ready = append(ready, text[:sure]...)
	s.held = bytes.Clone(text[sure:])
	if len(ready) == 0 {
		return len(p), nil
	}
	if _, err := s.ResponseWriter.Write(ready); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush sends what was written; without it mcp-go would not stream.
func (s *splicer) Flush() {
	_ = http.NewResponseController(s.ResponseWriter).Flush() // a writer that cannot flush buffers
}

// Unwrap lets http.ResponseController reach the connection.
func (s *splicer) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *splicer) finish() {
	if len(s.held) > 0 {
		_, _ = s.ResponseWriter.Write(s.held) // the agent is gone: nobody is left to tell
		s.held = nil
	}
}

// overlap is the length of the longest end of text that begins a token without completing it.
func overlap(text, token []byte) int {
	for n := min(len(text), len(token)-1); n > 0; n-- {
		if bytes.HasPrefix(token, text[len(text)-n:]) {
			return n
		}
	}
	return 0
}
