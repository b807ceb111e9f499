package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// stampWord makes this program a relay that notes when the last byte of a large message has gone out.
const stampWord = "stamp"

const largeMessage = 10 << 20

// stamp starts program, copies both ways, and writes the time in nanoseconds, the processor time its reader used by
// then, and the size to file at the end of each large line. Up to a pipe's buffer of it may still be on its way.
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
				note := fmt.Sprintf("%d %d %d", time.Now().UnixNano(), cpuTicks(os.Getppid()), size)
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

// stamped is what stamp wrote.
type stamped struct {
	at    time.Time
	ticks int64
	size  int64
}

func readStamp(file string) (s stamped, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return s, err
	}
	var nanos int64
	_, err = fmt.Sscan(string(raw), &nanos, &s.ticks, &s.size)
	s.at = time.Unix(0, nanos)
	return s, err
}
