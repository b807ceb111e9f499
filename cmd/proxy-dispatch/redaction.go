package main

import (
	"sync/atomic"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/secret"
)

// redaction hides the secrets of every configuration that has been in force: what an earlier one kept secret may still
// come up. It is safe for concurrent use.
type redaction struct {
	all  *secret.Set // owned by whoever adds
	made atomic.Pointer[secret.Redactor]
}

func newRedaction(cfg *config.Config) *redaction {
	r := &redaction{all: &secret.Set{}}
	r.add(cfg)
	return r
}

// add hides the secrets of one more configuration. One goroutine adds at a time.
func (r *redaction) add(cfg *config.Config) {
	cfg.AddSecrets(r.all)
	r.made.Store(r.all.Redactor())
}

// Redact replaces the secrets in a text by ***.
func (r *redaction) Redact(text string) string { return r.made.Load().Redact(text) }

// RedactStderr is Redact for what a server wrote to its stderr.
func (r *redaction) RedactStderr(text string) string { return r.made.Load().RedactStderr(text) }
