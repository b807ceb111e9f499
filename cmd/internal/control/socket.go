package control

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// maxSocketPath is the longest path of a socket that all systems take, in bytes.
const maxSocketPath = 100

// Place is where the proxies that serve one configuration file have their sockets.
type Place struct {
	dir, prefix string
}

// At returns the place for a configuration file: in the first of the folders whose paths are short enough.
func At(file string, folders ...string) (Place, error) {
	whole, err := filepath.Abs(file)
	if err != nil {
		return Place{}, fmt.Errorf("find the control socket: %w", err)
	}
	sum := sha256.Sum256([]byte(whole))
	p := Place{prefix: hex.EncodeToString(sum[:6]) + "-"}
	for _, dir := range folders {
		if p.dir = dir; dir != "" && len(p.socket(1<<22)) <= maxSocketPath {
			return p, nil
		}
	}
	return Place{}, errors.New("find the control socket: every folder's path is too long for one")
}

func (p Place) socket(pid int) string {
	return filepath.Join(p.dir, p.prefix+strconv.Itoa(pid)+".sock")
}

// Listen serves c on a socket that only this user can open, until ctx ends; it returns once the socket is gone.
func Listen(ctx context.Context, p Place, c Controller, log *slog.Logger) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of the control socket: %w", err)
	}
	// The folder may have been there before us, with other rights.
	if info, err := os.Lstat(p.dir); err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("the folder %s of the control socket is open to others", p.dir)
	}
	path := p.socket(os.Getpid())
	_ = os.Remove(path) // of a process of the same number that was killed
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("open the control socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(fmt.Errorf("close the control socket to others: %w", err), listener.Close())
	}
	s := &http.Server{Handler: Handler("", c), ReadHeaderTimeout: 5 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the control socket: %w", err)
	}
	return nil
}

// Client speaks to one running proxy.
type Client struct {
	PID  int
	http *http.Client
}

// Clients returns the proxies that serve the file now. Sockets that nobody answers are removed.
func (p Place) Clients(ctx context.Context) []Client {
	paths, _ := filepath.Glob(filepath.Join(p.dir, p.prefix+"*.sock")) // the pattern is ours
	var all []Client
	for _, path := range paths {
		pid, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), p.prefix), ".sock"))
		if err != nil {
			continue
		}
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
		conn, err := dial(ctx, "", "")
		if err != nil {
			_ = os.Remove(path)
			continue
		}
		_ = conn.Close()
		all = append(all, Client{pid, &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: time.Minute}})
	}
	return all
}

// Reload makes the proxy read its file again.
func (c Client) Reload(ctx context.Context) (r Report, err error) {
	return r, c.do(ctx, http.MethodPost, "/reload", nil, &r)
}

// Restart makes the proxy restart a server.
func (c Client) Restart(ctx context.Context, server string) error {
	return c.do(ctx, http.MethodPost, "/servers/"+url.PathEscape(server)+"/restart", nil, nil)
}

// Servers tells how the proxy's servers stand.
func (c Client) Servers(ctx context.Context) (all []Server, err error) {
	return all, c.do(ctx, http.MethodGet, "/servers", nil, &all)
}

func (c Client) do(ctx context.Context, method, path string, body []byte, into any) error {
	q, err := http.NewRequestWithContext(ctx, method, "http://proxy"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := c.http.Do(q)
	if err != nil {
		return fmt.Errorf("ask process %d: %w", c.PID, err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	if err != nil {
		return fmt.Errorf("ask process %d: %w", c.PID, err)
	}
	if answer.StatusCode != http.StatusOK {
		var f failure
		if json.Unmarshal(said, &f) != nil || f.Error == "" {
			f.Error = answer.Status
		}
		return fmt.Errorf("process %d: %s", c.PID, f.Error)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(said, into); err != nil {
		return fmt.Errorf("read the answer of process %d: %w", c.PID, err)
	}
	return nil
}
