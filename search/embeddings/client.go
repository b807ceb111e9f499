// Package embeddings turns texts into vectors by asking an endpoint that speaks the OpenAI embeddings API.
package embeddings

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options of a Client. URL and Model are required.
type Options struct {
	URL        string        // the endpoint, or the address before its /embeddings or /v1/embeddings
	Model      string        // name of the model
	APIKey     string        // sent as a bearer token; "" sends none
	Dimensions int           // length of the vectors to ask for; 0 leaves it to the model
	Dir        string        // where vectors of documents are kept; "" keeps none
	Timeout    time.Duration // of one request for documents; 0 means 30 s
	HTTP       *http.Client  // nil means a client of its own
}

// Client asks one endpoint. It is safe for concurrent use.
type Client struct {
	o     Options
	url   string
	store store
}

// ErrAnswer is an answer that is not what was asked for.
var ErrAnswer = errors.New("unexpected answer of the embeddings endpoint")

// Limits of the exchange with an endpoint.
const (
	maxBatch  = 64       // texts of one request
	maxAnswer = 64 << 20 // bytes of one answer
	maxLength = 16_384   // numbers of one vector
)

// New checks the options; it asks nobody.
func New(o Options) (*Client, error) {
	if o.Model == "" {
		return nil, errors.New("embeddings: the model is missing")
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("embeddings: the url is not one of http or https")
	}
	switch path := strings.TrimRight(u.Path, "/"); {
	case strings.HasSuffix(path, "/embeddings"):
	case path == "":
		u.Path = "/v1/embeddings"
	default:
		u.Path = path + "/embeddings"
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{}
	}
	return &Client{o: o, url: u.String(), store: newStore(o, u.String())}, nil
}

// Query returns the vector of one question. It is not kept.
func (c *Client) Query(ctx context.Context, text string) ([]float32, error) {
	vs, err := c.ask(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	return vs[0], nil
}

// Documents returns one vector a text, those that are kept from the disk. What was got before an error is kept for
// the next time.
func (c *Client) Documents(ctx context.Context, texts []string) ([][]float32, error) {
	keys := make([]key, len(texts))
	for i, t := range texts {
		keys[i] = keyOf(t)
	}
	out := c.store.load(keys)
	var missing []int
	for i, v := range out {
		if v == nil {
			missing = append(missing, i)
		}
	}
	for len(missing) > 0 {
		n := min(len(missing), maxBatch)
		if err := c.fill(ctx, texts, keys, missing[:n], out); err != nil {
			return nil, err
		}
		missing = missing[n:]
	}
	for _, v := range out {
		if len(v) != len(out[0]) {
			return nil, fmt.Errorf("%w: vectors of %d and %d numbers", ErrAnswer, len(out[0]), len(v))
		}
	}
	return out, nil
}

// fill asks for the texts at the places of missing.
func (c *Client) fill(ctx context.Context, texts []string, keys []key, missing []int, out [][]float32) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	var batch []string
	var hashes []key
	for _, i := range missing {
		batch, hashes = append(batch, texts[i]), append(hashes, keys[i])
	}
	vs, err := c.ask(ctx, batch)
	if err != nil {
		return err
	}
	for j, i := range missing {
		out[i] = vs[j]
	}
	return c.store.save(hashes, vs)
}

type question struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Dimensions int      `json:"dimensions,omitempty"`
	Format     string   `json:"encoding_format"`
}

type answer struct {
	Data []struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
}

func (c *Client) ask(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := json.Marshal(question{c.o.Model, texts, c.o.Dimensions, "float"})
	if err != nil {
		return nil, fmt.Errorf("ask for embeddings: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask for embeddings: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.o.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.o.APIKey)
	}
	resp, err := c.o.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask for embeddings: %w", bare(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK { // its words are not shown: they may repeat what was sent
		return nil, fmt.Errorf("%w: status %d", ErrAnswer, resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read embeddings: %w", bare(err))
	}
	if len(data) > maxAnswer {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrAnswer, maxAnswer)
	}
	return read(data, len(texts))
}

// bare drops the address from an error, which may hold a secret.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// read takes n vectors of one length out of an answer.
func read(data []byte, n int) ([][]float32, error) {
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	out := make([][]float32, n)
	for _, d := range a.Data {
		if d.Index < 0 || d.Index >= n || out[d.Index] != nil {
			return nil, fmt.Errorf("%w: index %d of %d", ErrAnswer, d.Index, n)
		}
		if len(d.Embedding) == 0 || len(d.Embedding) > maxLength || len(d.Embedding) != len(a.Data[0].Embedding) {
			return nil, fmt.Errorf("%w: a vector of %d numbers", ErrAnswer, len(d.Embedding))
		}
		out[d.Index] = d.Embedding
	}
	if len(a.Data) != n {
		return nil, fmt.Errorf("%w: %d vectors for %d texts", ErrAnswer, len(a.Data), n)
	}
	return out, nil
}
