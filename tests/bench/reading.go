package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/tests/fixture"
)

// reading measures what it takes to look into large results, beside the programs people know.
func (r *rig) reading() error {
	for _, measure := range []func() error{r.anywhere, r.greps, r.grouping, r.estimates} {
		if err := measure(); err != nil {
			return err
		}
	}
	return nil
}

// onDisk writes so many bytes of records, a line each or as one list, and returns the file.
func (r *rig) onDisk(name string, bytes int, list bool) (string, error) {
	file := filepath.Join(r.dir, name)
	f, err := os.Create(file)
	if err != nil {
		return "", err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	between := "\n"
	if list {
		between = ",\n"
		_, _ = w.WriteString("[") // its error comes with Flush
	}
	size := 0
	for record := range fixture.Orders() {
		if size > 0 {
			_, _ = w.WriteString(between)
		}
		n, _ := w.Write(record)
		if size += n + len(between); size >= bytes {
			break
		}
	}
	if list {
		_, _ = w.WriteString("]")
	}
	_, _ = w.WriteString("\n")
	if err := w.Flush(); err != nil {
		return "", err
	}
	return file, f.Close()
}

// reader starts a proxy that may read the files of the bench.
func (r *rig) reader() (*side, error) {
	return r.throughWith(fmt.Sprintf(`"allowedRoots": [%q]`, r.dir), server{"one", []string{r.fixture}})
}

// anywhere reads parts of a large text; the first look, which makes the index of its lines, is not counted.
func (r *rig) anywhere() error {
	file, err := r.onDisk("large.jsonl", 1_000_000_000, false)
	if err != nil {
		return err
	}
	defer os.Remove(file)
	s, err := r.reader()
	if err != nil {
		return err
	}
	defer s.Close()
	ask := func(members string) (float64, error) {
		began := time.Now()
		_, err := s.use(r, fmt.Sprintf(`{"action":"readresult","resultFile":%q,%s}`, file, members))
		return float64(time.Since(began).Microseconds()) / 1000, err
	}
	first, err := ask(`"op":"stat"`)
	if err != nil {
		return err
	}
	worst, note := 0.0, ""
	for _, op := range []string{`"op":"stat"`, `"op":"head"`, `"op":"tail"`, `"op":"slice","fromLine":3000000,"toLine":3000050`, `"op":"bytes","offset":700000000`} {
		var took []float64
		for range 5 * r.rounds {
			ms, err := ask(op)
			if err != nil {
				return err
			}
			took = append(took, ms)
		}
		worst = max(worst, median(took))
		note += fmt.Sprintf("%s %.2f, ", strings.Split(op, `"`)[3], median(took))
	}
	r.most("stat, head, tail, slice, bytes in 1 GB, the slowest", worst, 10, " ms", note+fmt.Sprintf("first look %.0f", first))
	return nil
}

// greps compares with GNU grep, which must count the same.
func (r *rig) greps() error {
	if _, err := exec.LookPath("grep"); err != nil {
		fmt.Fprintln(os.Stderr, "skipped: no grep")
		return nil
	}
	file, err := r.onDisk("middle.jsonl", 500_000_000, false)
	if err != nil {
		return err
	}
	defer os.Remove(file)
	s, err := r.reader()
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.use(r, fmt.Sprintf(`{"action":"readresult","resultFile":%q}`, file)); err != nil {
		return err
	}
	for _, tt := range []struct {
		what, flags, pattern string
		line                 float64
	}{
		{"a rare literal", "-ci", "record-2999999", 1}, {"a literal on every line", "-ci", "country", 6}, {"record-1999[0-9]5", "-ciE", "record-1999[0-9]5", 1},
		{"user[0-9]+@example", "-ciE", "user[0-9]+@example", 9}, {`[0-9]{2}\.[0-9]{3},"tags`, "-ciE", `[0-9]{2}\.[0-9]{3},"tags`, 9},
	} {
		var ratios []float64
		var note string
		for range r.rounds {
			ours, theirs, err := r.grep(s, file, tt.flags, tt.pattern)
			if err != nil {
				return err
			}
			ratios = append(ratios, ours/theirs)
			note = fmt.Sprintf("%.0f / %.0f ms in the last round", ours*1000, theirs*1000)
		}
		r.most("grep of 500 MB / GNU grep: "+tt.what, median(ratios), tt.line, "", note)
	}
	return nil
}

func (r *rig) grep(s *side, file, flags, pattern string) (ours, theirs float64, err error) {
	cmd := exec.CommandContext(r.ctx, "grep", flags, pattern, file)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	began := time.Now()
	out, err := cmd.Output()
	theirs = time.Since(began).Seconds()
	if failed, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || failed.ExitCode() != 1) {
		return 0, 0, err
	}
	began = time.Now()
	text, err := s.use(r, fmt.Sprintf(`{"action":"readresult","resultFile":%q,"op":"grep","limit":1,"pattern":%q}`, file, pattern))
	ours = time.Since(began).Seconds()
	if want := strings.TrimSpace(string(out)) + " matches"; err == nil && !strings.HasPrefix(text, want) {
		err = fmt.Errorf("%s: got %.60q, grep has %s", pattern, text, want)
	}
	return ours, theirs, err
}

// grouping compares with the jq program.
func (r *rig) grouping() error {
	program, err := exec.LookPath("jq")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		r.info("jq group-by over 100 MB / the jq program", 0, "NOT MEASURED: no jq on this machine (apt-get install jq)")
		return nil
	}
	file, err := r.onDisk("list.json", 100_000_000, true)
	if err != nil {
		return err
	}
	defer os.Remove(file)
	const filter = `group_by(.country) | map({country: .[0].country, n: length, sum: (map(.amount) | add)})`
	var ratios, memory []float64
	note := ""
	for range r.rounds {
		began := time.Now()
		out, err := exec.CommandContext(r.ctx, program, "-c", filter, file).Output()
		theirs := time.Since(began).Seconds()
		if err != nil {
			return err
		}
		s, err := r.reader()
		if err != nil {
			return err
		}
		took, peak, err := r.group(s, file, filter, strings.TrimSpace(string(out)))
		_ = s.Close()
		if err != nil {
			return err
		}
		ratios, memory = append(ratios, took/theirs), append(memory, peak)
		note = fmt.Sprintf("%.1f / %.1f s in the last round", took, theirs)
	}
	version, _ := exec.CommandContext(r.ctx, program, "--version").Output()
	r.most("jq group-by over 100 MB / the jq program", median(ratios), 0.8, "", note+", "+strings.TrimSpace(string(version)))
	r.most("  peak memory of the process", median(memory), 800, " MB", "")
	return nil
}

// group runs the filter on a file that was looked at before.
func (r *rig) group(s *side, file, filter, want string) (seconds, peakMB float64, err error) {
	if _, err := s.use(r, fmt.Sprintf(`{"action":"readresult","resultFile":%q}`, file)); err != nil { // the first look at it
		return 0, 0, err
	}
	began := time.Now()
	got, err := s.use(r, fmt.Sprintf(`{"action":"readresult","resultFile":%q,"format":"json","jq":%q}`, file, filter))
	seconds = time.Since(began).Seconds()
	if err == nil && !sameSums(got, want) {
		err = fmt.Errorf("jq: got %.300s, the program %.300s", got, want)
	}
	return seconds, float64(status(s.Pid(), "VmHWM")) / 1e6, err
}

// sameSums tells whether the counts in both are the same; sums of many numbers differ in their last digits.
func sameSums(got, want string) bool {
	counts := func(s string) (n []string) {
		for _, part := range strings.Split(strings.ReplaceAll(s, `\"`, `"`), `"n":`)[1:] {
			n = append(n, part[:strings.IndexAny(part, ",}")])
		}
		return n
	}
	a, b := counts(got), counts(want)
	for i := range a {
		if _, err := strconv.Atoi(a[i]); err != nil || len(b) != len(a) || a[i] != b[i] {
			return false
		}
	}
	return len(a) > 0
}
