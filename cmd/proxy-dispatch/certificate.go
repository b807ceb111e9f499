package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
)

// certificate is the one in two files, read again when they change. A pair that does not fit leaves the old one in use:
// the files are rarely written at the same moment. It is safe for concurrent use.
type certificate struct {
	files config.TLS
	log   *slog.Logger

	mu     sync.Mutex
	now    *tls.Certificate
	stamps [2]time.Time
	looked time.Time
}

// lookEvery is how often the files are looked at, at most.
const lookEvery = time.Second

func loadCertificate(files config.TLS, log *slog.Logger) (*certificate, error) {
	c := &certificate{files: files, log: log}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("load the certificate: %w", err)
	}
	return c, nil
}

// Get implements tls.Config.GetCertificate.
func (c *certificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= lookEvery {
		c.looked = now
		if c.changed() {
			if err := c.load(); err != nil {
				c.log.Error("the certificate stays as it was", "why", err)
			} else {
				c.log.Info("certificate taken over")
			}
		}
	}
	return c.now, nil
}

func (c *certificate) changed() bool {
	for i, file := range []string{c.files.Cert, c.files.Key} {
		if info, err := os.Stat(file); err == nil && !info.ModTime().Equal(c.stamps[i]) {
			return true
		}
	}
	return false
}

// load reads both files. c.mu is held, or nobody else has c.
func (c *certificate) load() error {
	for i, file := range []string{c.files.Cert, c.files.Key} {
		if info, err := os.Stat(file); err == nil {
			c.stamps[i] = info.ModTime()
		}
	}
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return err
	}
	c.now = &pair
	return nil
}
