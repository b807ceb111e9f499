package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// stampWord makes this program a relay that notes when the last byte of a large message has gone out.
const stampWord = "stamp"

const largeMessage = 10 << 20

// stamp starts program, copies both ways, and writes the time in nanoseconds, and the processor time its reader used by
// then, to file at the end of each large line. Up to a pipe's buffer of it may still be on its way.
func stamp(file, program string) error {
	cmd := exec.Command(program)
	cmd.Stdin = os.Stdin
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("open stdout: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	buf := make([]byte, 1<<20)
	for size := 0; ; {
		n, err := out.Read(buf)
		if _, failed := os.Stdout.Write(buf[:n]); failed != nil {
			return failed
		}
		size += n
		if n > 0 && bytes.IndexByte(buf[:n], '\n') >= 0 {
			if size > largeMessage {
				note := fmt.Sprintf("%d %d", time.Now().UnixNano(), cpuTicks(os.Getppid()))
				if err := os.WriteFile(file, []byte(note), 0o600); err != nil {
					return err
				}
			}
			size = 0
		}
		if err == io.EOF {
			return cmd.Wait()
		}
		if err != nil {
			return err
		}
	}
}

// stamped reads what stamp wrote.
func stamped(file string) (at time.Time, ticks int64, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return at, 0, err
	}
	nanos, cpu, _ := strings.Cut(string(raw), " ")
	n, err := strconv.ParseInt(nanos, 10, 64)
	if err != nil {
		return at, 0, err
	}
	ticks, err = strconv.ParseInt(cpu, 10, 64)
	return time.Unix(0, n), ticks, err
}
