package suite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// ErrSilent says that a server ended before it named an address.
var ErrSilent = errors.New("it named no address")

var address = regexp.MustCompile(`127\.0\.0\.1:\d+|port \d+`)

// Listen starts a program that names its loopback address or its port on stderr in a line with "listen" in it, and returns the address. What
// it says after that goes to log. stop ends the program and waits for it.
func Listen(ctx context.Context, cmd *exec.Cmd, log io.Writer) (addr string, stop func(), err error) {
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, fmt.Errorf("open stderr: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("start server: %w", err)
	}
	said := make(chan string, 1)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		defer close(said)
		named := false
		for r := bufio.NewScanner(stderr); r.Scan(); {
			if a := address.FindString(r.Text()); a != "" && !named && strings.Contains(r.Text(), "listen") {
				said <- strings.Replace(a, "port ", "127.0.0.1:", 1)
				named = true
			}
			fmt.Fprintln(log, r.Text())
		}
	}()
	stop = func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-drained
		_ = cmd.Wait()
	}
	select {
	case a, ok := <-said:
		if ok {
			return a, stop, nil
		}
		stop()
		return "", nil, fmt.Errorf("start %s: %w", cmd.Path, ErrSilent)
	case <-ctx.Done():
		_ = cmd.Process.Kill()
		stop()
		return "", nil, ctx.Err()
	}
}
