package process

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	stderrLine  = 2 << 10 // bytes shown of a line
	stderrKept  = 20      // lines remembered to explain an exit
	whyLine     = 300     // bytes of a line that explains an exit
	logsASecond = 20
	logsAtOnce  = 100
)

// Log takes what a server makes us log, as fast as is useful, and counts the rest. It may be used concurrently.
type Log struct {
	to    *slog.Logger
	limit *rate.Limiter

	mu      sync.Mutex
	dropped int
}

// NewLog makes a Log that writes at most 20 lines a second, and 100 at once, to the given one.
func NewLog(to *slog.Logger) *Log {
	return &Log{to: to, limit: rate.NewLimiter(logsASecond, logsAtOnce)}
}

// Line logs one line of the server's, or drops it; what was dropped is told with the next one.
func (l *Log) Line(level slog.Level, message, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.limit.Allow() {
		l.dropped++
		return
	}
	attrs := []slog.Attr{slog.String("line", line)}
	if l.dropped > 0 {
		attrs = append(attrs, slog.Int("dropped_before", l.dropped))
		l.dropped = 0
	}
	l.to.LogAttrs(context.Background(), level, message, attrs...)
}

// stderrLog follows the stderr of one process: into the log, and remembering its last lines.
type stderrLog struct {
	log  *Log
	show func(text string, limit int) string
	file *os.File
	done chan struct{}

	mu   sync.Mutex
	last []string
}

func newStderrLog(to *slog.Logger, show func(string, int) string) *stderrLog {
	return &stderrLog{log: NewLog(to), show: show, done: make(chan struct{})}
}

// follow reads f to its end in a goroutine for which stop waits, and closes it.
func (s *stderrLog) follow(f *os.File) {
	s.file = f
	go func() {
		defer close(s.done)
		defer f.Close()
		s.read(f)
	}()
}

func (s *stderrLog) read(r io.Reader) {
	in := bufio.NewReaderSize(r, 2*stderrLine) // longer than what is shown, so that no secret is cut before it is found
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 {
			s.take(string(line))
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
			_, err = in.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

func (s *stderrLog) take(line string) {
	line = s.show(strings.TrimSpace(line), stderrLine)
	if line == "" {
		return
	}
	s.log.Line(slog.LevelInfo, "server stderr", line)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.last) == stderrKept {
		s.last = append(s.last[:0], s.last[1:]...)
	}
	s.last = append(s.last, line)
}

// telling is the remembered line that says most about an end: the last one that speaks of an error, else the last.
func (s *stderrLog) telling() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.last) - 1; i >= 0; i-- {
		lower := strings.ToLower(s.last[i])
		for _, word := range []string{"error", "panic", "fatal", "not found", "cannot"} {
			if strings.Contains(lower, word) {
				return s.show(s.last[i], whyLine)
			}
		}
	}
	if len(s.last) == 0 {
		return ""
	}
	return s.show(s.last[len(s.last)-1], whyLine)
}

// stop waits until everything was read, for grace at most; then it stops reading.
func (s *stderrLog) stop(grace time.Duration) {
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-s.done:
		return
	case <-t.C:
	}
	s.file.Close()
	<-s.done
}
