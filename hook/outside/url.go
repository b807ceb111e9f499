package outside

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

// URLOptions say where a hook answers.
type URLOptions struct {
	URL     string
	Headers map[string]string
	Timeout time.Duration     // 0 means DefaultTimeout
	Client  http.RoundTripper // nil means http.DefaultTransport
}

// URL is a hook behind an address: the question is posted as JSON, and an answer of 200 or 204 counts. No redirect is
// followed.
func URL(o URLOptions) dispatch.Hook {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	client := &http.Client{Transport: o.Client, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return dispatch.HookFunc(func(ctx context.Context, c dispatch.HookCall) (dispatch.Verdict, error) {
		ctx, cancel := context.WithTimeout(ctx, o.Timeout)
		defer cancel()
		raw, err := post(ctx, client, o, c)
		if err != nil {
			return dispatch.Verdict{}, err
		}
		return verdict(c, raw)
	})
}

func post(ctx context.Context, client *http.Client, o URLOptions, c dispatch.HookCall) ([]byte, error) {
	q, err := question(c)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.URL, bytes.NewReader(q))
	if err != nil {
		return nil, fmt.Errorf("ask the hook's address: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	for k, v := range o.Headers {
		r.Header.Set(k, v)
	}
	resp, err := client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("no answer within %s: %w", o.Timeout, ctx.Err())
		}
		return nil, errors.New("the hook's address can't be reached") // its error would name the address, which may hold a secret
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNoContent {
		return nil, fmt.Errorf("the hook's address answered with status %d", resp.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer of the hook's address: %w", err)
	}
	if len(raw) > maxAnswer {
		return nil, errTooLarge
	}
	return raw, nil
}
