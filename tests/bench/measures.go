package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/tokens"
)

// definition counts what every conversation pays for.
func (r *rig) definition() error {
	s, err := r.through(server{"files", []string{r.fixture}}, server{"database", []string{r.fixture}}, server{"tickets", []string{r.fixture}})
	if err != nil {
		return err
	}
	defer s.Close()
	raw, err := s.Request(r.ctx, "tools/list", `{}`)
	if err != nil {
		return err
	}
	var list struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(raw, &list); err != nil || len(list.Tools) != 1 {
		return fmt.Errorf("got %d tools: %w", len(list.Tools), err)
	}
	c, err := tokens.New("")
	if err != nil {
		return err
	}
	r.most("tools/list entry, o200k tokens", float64(c.Count(string(list.Tools[0]))), 500, "", fmt.Sprintf("%d bytes", len(list.Tools[0])))
	return nil
}

// start compares starts with six broken servers to starts with none.
func (r *rig) start() error {
	broken := []server{
		{"silent", []string{r.fixture, "--mode", "silent"}}, {"garbage", []string{r.fixture, "--mode", "garbage"}},
		{"half", []string{r.fixture, "--mode", "half-line"}}, {"crash", []string{r.fixture, "--mode", "crash-start"}},
		{"absent", []string{filepath.Join(r.dir, "no-such-program")}}, {"slow", []string{r.fixture, "--delay", "1h"}},
	}
	var with, without []float64
	for range r.starts {
		for _, servers := range [][]server{broken, nil} {
			began := time.Now()
			s, err := r.through(servers...)
			if err != nil {
				return err
			}
			if _, err := s.Request(r.ctx, "tools/list", `{}`); err != nil {
				return err
			}
			took := float64(time.Since(began).Microseconds()) / 1000
			_ = s.Close()
			if servers == nil {
				without = append(without, took)
			} else {
				with = append(with, took)
			}
		}
	}
	a, b := median(with), median(without)
	r.most("start → first tools/list, six broken servers / none", a/b, 1.3, "", fmt.Sprintf("%.1f / %.1f ms, median of %d", a, b, r.starts))
	return nil
}

// echoes measures small calls: one after the other, 64 at once, and what they cost in processor time.
func (r *rig) echoes() error {
	d, err := r.direct(r.echo)
	if err != nil {
		return err
	}
	defer d.Close()
	own := r.echoServer(0) // the direct one; the other is found once it is there
	t, err := r.through(server{"echo", []string{r.echo}})
	if err != nil {
		return err
	}
	defer t.Close()
	for _, s := range []*side{d, t} { // warm
		if _, err := r.echoCalls(s, 300); err != nil {
			return err
		}
	}
	behind := r.echoServer(own)
	bare, err := r.relayed()
	if err != nil {
		return err
	}
	defer bare.Close()
	var p50, floor, rate, cpu []float64
	var note [3]string
	for range r.rounds {
		before, beforeBehind := cpuTicks(t.Pid()), cpuTicks(behind)
		through, err := r.echoCalls(t, r.calls)
		if err != nil {
			return err
		}
		ours, theirs := cpuTicks(t.Pid())-before, cpuTicks(behind)-beforeBehind
		direct, err := r.echoCalls(d, r.calls)
		if err != nil {
			return err
		}
		copied, err := r.echoCalls(bare, r.calls)
		if err != nil {
			return err
		}
		floor = append(floor, copied/direct)
		p50 = append(p50, through/direct)
		note[0] = fmt.Sprintf("%.0f / %.0f µs in the last round", through, direct)
		cpu = append(cpu, float64(ours)/float64(max(theirs, 1)))
		note[2] = fmt.Sprintf("%.0f / %.0f µs a call", float64(ours)*1e4/float64(r.calls), float64(theirs)*1e4/float64(r.calls))
		manyThrough, err := r.atOnce(t, 64, r.calls)
		if err != nil {
			return err
		}
		manyDirect, err := r.atOnce(d, 64, r.calls)
		if err != nil {
			return err
		}
		rate = append(rate, manyThrough/manyDirect)
		note[1] = fmt.Sprintf("%.0f / %.0f calls/s", manyThrough, manyDirect)
	}
	r.most("echo over stdio, p50 through / direct", median(p50), 2, "", note[0])
	r.info("  the same through a relay that only copies", median(floor), "the floor on this machine")
	r.least("64 concurrent echo calls, throughput through / direct", median(rate), 0.35, "", note[1])
	r.most("proxy CPU per echo call / the echo server's own", median(cpu), 2, "", note[2])
	return nil
}

// relayed is the echo server behind a relay, warm.
func (r *rig) relayed() (*side, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s, err := r.direct(self, relayWord, r.echo)
	if err != nil {
		return nil, err
	}
	_, err = r.echoCalls(s, 300)
	return s, err
}

// echoServer is a process of the echo server, but not this one; 0 if there is none.
func (r *rig) echoServer(not int) int {
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, l := range links {
		if target, err := os.Readlink(l); err == nil && target == r.echo {
			if pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(l))); pid != not {
				return pid
			}
		}
	}
	return 0
}

func echoTool(s *side) error {
	raw, err := s.call("echo", `{"message":"hello, is there anybody out there?"}`)
	if err == nil && !strings.Contains(string(raw), "anybody") {
		err = fmt.Errorf("echo answered %.200s", raw)
	}
	return err
}

// echoCalls returns the median time of n calls, in microseconds.
func (r *rig) echoCalls(s *side, n int) (float64, error) {
	took := make([]int64, 0, n)
	for range n {
		began := time.Now()
		if err := echoTool(s); err != nil {
			return 0, err
		}
		took = append(took, int64(time.Since(began)))
	}
	return float64(median(took)) / 1000, nil
}

// atOnce returns the calls per second of n calls made by so many agents' hands at once.
func (r *rig) atOnce(s *side, hands, n int) (float64, error) {
	var left atomic.Int64
	left.Store(int64(n))
	errs := make([]error, hands)
	var all sync.WaitGroup
	began := time.Now()
	for i := range hands {
		all.Go(func() {
			for left.Add(-1) >= 0 && errs[i] == nil {
				errs[i] = echoTool(s)
			}
		})
	}
	all.Wait()
	return float64(n) / time.Since(began).Seconds(), errors.Join(errs...)
}

// large passes big results inline and looks at the memory that took. The yardstick is a server and an agent that
// encode and decode as programs do; the bare rows beside it show the way alone, between two pipes that only copy.
func (r *rig) large() error {
	for _, size := range []struct {
		bytes, calls int
		line         float64
		name         string
	}{{1 << 20, 15, 1.5, "1 MB"}, {100 << 20, 1, 1.6, "100 MB"}} {
		usual, memory, note, err := r.largeRatio(size.bytes, size.calls, r.echo, decodeText)
		if err != nil {
			return err
		}
		r.most(size.name+" result inline, time through / direct", usual, size.line, "", note)
		if size.bytes > 10<<20 {
			r.most("peak memory for the 100 MB result / payload", memory, 4, "", "largest of all rounds")
		}
		bare, _, note, err := r.largeRatio(size.bytes, size.calls, r.fixture, nil)
		if err != nil {
			return err
		}
		r.info("  the same, neither side encodes or decodes", bare, note)
	}
	return nil
}

// largeRatio is the median of time through / direct, and the largest peak memory of the proxy per byte of payload.
func (r *rig) largeRatio(bytes, calls int, program string, decode func(json.RawMessage) error) (ratio, memory float64, note string, err error) {
	var ratios []float64
	for range r.rounds {
		d, err := r.direct(program)
		if err != nil {
			return 0, 0, "", err
		}
		direct, _, err := r.bigCalls(d, bytes, calls, decode)
		_ = d.Close()
		if err != nil {
			return 0, 0, "", err
		}
		t, err := r.through(server{"one", []string{program}})
		if err != nil {
			return 0, 0, "", err
		}
		through, payload, err := r.bigCalls(t, bytes, calls, decode)
		memory = max(memory, float64(status(t.Pid(), "VmHWM"))/float64(max(payload, 1)))
		_ = t.Close()
		if err != nil {
			return 0, 0, "", err
		}
		ratios = append(ratios, through/direct)
		note = fmt.Sprintf("%.1f / %.1f ms in the last round", through, direct)
	}
	return median(ratios), memory, note, nil
}

// decodeText takes a result apart as an agent does that wants its text.
func decodeText(raw json.RawMessage) error {
	var r struct{ Content []struct{ Type, Text string } }
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	if len(r.Content) != 1 || r.Content[0].Text == "" {
		return fmt.Errorf("got %d blocks, want one text", len(r.Content))
	}
	return nil
}

// bigCalls returns the median time of a large result in milliseconds, and its size as it came. The first call is
// not counted: the server makes its data then.
func (r *rig) bigCalls(s *side, bytes, calls int, decode func(json.RawMessage) error) (ms float64, payload int, err error) {
	arguments := fmt.Sprintf(`{"bytes":%d}`, bytes)
	var took []float64
	for i := range calls + 1 {
		began := time.Now()
		raw, err := s.call("big", arguments)
		if err == nil && decode != nil {
			err = decode(raw)
		}
		if err != nil {
			return 0, 0, err
		}
		if payload = len(raw); payload < bytes {
			return 0, 0, fmt.Errorf("got %d bytes inline, want %d: %.300s", payload, bytes, raw)
		}
		if i > 0 {
			took = append(took, float64(time.Since(began).Microseconds())/1000)
		}
	}
	return median(took), payload, nil
}

// memory serves a catalog of many real servers and looks at the proxy's resident size.
func (r *rig) memory() error {
	names, err := serversOf(r.catalog)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "skipped: no catalog at %s (set -catalog)\n", r.catalog)
		return nil
	}
	if err != nil {
		return err
	}
	servers := []server{{"large", []string{r.fixture}}}
	for _, n := range names {
		servers = append(servers, server{n, []string{r.fixture, "--catalog", r.catalog, "--server", n, "--no-prompts"}})
	}
	s, err := r.through(servers...)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := r.known(s, len(servers)); err != nil {
		return err
	}
	const mb = 1 << 20
	before := float64(status(s.Pid(), "VmRSS")) / mb
	for _, request := range []string{`{"action":"search","query":"list the open pull requests of a repository"}`, `{"action":"call","tool":"large/big","arguments":{"bytes":1000000}}`} {
		if _, err := s.Call(r.ctx, "proxy-dispatch", request, ""); err != nil {
			return err
		}
	}
	after := float64(status(s.Pid(), "VmRSS")) / mb
	note := fmt.Sprintf("%d servers behind it", len(servers))
	r.most("resident memory, nothing called yet", before, 60, " MB", note)
	r.most("resident memory, after a search and a spill", after, 100, " MB", note)
	return nil
}

// known waits, without asking the proxy anything, until every catalog was read and is on the disk.
func (r *rig) known(s *side, n int) error {
	for range 300 {
		files := 0
		_ = filepath.WalkDir(s.home, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && filepath.Ext(p) == ".json" {
				files++
			}
			return nil
		})
		if files >= n {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New("the catalogs did not come in 30 s")
}

func serversOf(catalog string) ([]string, error) {
	b, err := os.ReadFile(catalog)
	if err != nil {
		return nil, err
	}
	var entries []struct{ Server string }
	if err := json.Unmarshal(b, &entries); err != nil {
		return nil, fmt.Errorf("parse catalog: %w", err)
	}
	seen := map[string]bool{}
	var names []string
	for _, e := range entries {
		if !seen[e.Server] {
			seen[e.Server] = true
			names = append(names, e.Server)
		}
	}
	return names, nil
}
