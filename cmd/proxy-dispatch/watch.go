package main

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/control"
)

// settled is how long a file must stay as it is before it is read: editors write in pieces.
const settled = 100 * time.Millisecond

// steer lets the program be changed while it serves: by its file, by SIGHUP, and by its socket. The function it returns
// ends that and waits.
func (c *console) steer(ctx context.Context, s *steering) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	if s.program.cfg.Path != "" {
		running.Go(func() { s.watch(ctx) })
		if place, err := c.controlPlace(s.program.cfg); err != nil {
			s.program.log.Warn("no control socket", "why", err)
		} else {
			running.Go(func() {
				if err := control.Listen(ctx, place, s, s.program.log); err != nil {
					s.program.log.Warn("no control socket", "why", err)
				}
			})
		}
	}
	return func() { cancel(); running.Wait() }
}

// controlPlace is where the proxies of a configuration have their sockets.
func (c *console) controlPlace(cfg *config.Config) (control.Place, error) {
	var folders []string
	if dir, ok := c.env("XDG_RUNTIME_DIR"); ok && filepath.IsAbs(dir) {
		folders = append(folders, filepath.Join(dir, "proxy-dispatch"))
	}
	if dir, err := cacheDir(cfg); err == nil {
		folders = append(folders, filepath.Join(dir, "run"))
	}
	own := "proxy-dispatch-run-" + strconv.Itoa(os.Getuid())
	folders = append(folders, filepath.Join(os.TempDir(), own))
	if runtime.GOOS != "windows" {
		folders = append(folders, filepath.Join("/tmp", own)) // where TMPDIR is too long for a socket
	}
	return control.At(cfg.Path, folders...)
}

// watch reloads the file when it has changed and, at once, when the process is told to.
func (s *steering) watch(ctx context.Context) {
	path := s.program.cfg.Path
	told := make(chan os.Signal, 1)
	if len(reloadSignals) > 0 { // none would mean all
		signal.Notify(told, reloadSignals...)
		defer signal.Stop(told)
	}
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		// The folder, because editors replace the file, and because a link in it may be turned to another file.
		err = watcher.Add(filepath.Dir(path))
	}
	events := make(chan fsnotify.Event)
	if err != nil {
		s.program.log.Warn("the configuration is not watched", "why", err)
	} else {
		events = watcher.Events
	}
	seen, _ := os.ReadFile(path)
	quiet := time.NewTimer(0)
	quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-told:
			seen, _ = os.ReadFile(path)
			_, _ = s.Reload(ctx) // it is in the log
		case <-events:
			quiet.Reset(settled)
		case <-quiet.C:
			now, err := os.ReadFile(path)
			if err != nil || bytes.Equal(now, seen) {
				continue // between two files, or another file's event
			}
			seen = now
			_, _ = s.Reload(ctx)
		}
	}
}
