package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/tokens"
)

// payloadSize is the large result of all rows on spilling.
const payloadSize = 100 << 20

// spilling measures what it takes to keep a large result.
func (r *rig) spilling() error {
	if err := r.lastByte(); err != nil {
		return err
	}
	if err := r.spillRatio(); err != nil {
		return err
	}
	return r.reports()
}

// lastByte measures from the server's last byte to the report, in a process that has done nothing before, and again.
func (r *rig) lastByte() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var cold, warm, coldCPU, memory []float64
	for range r.rounds {
		file := filepath.Join(r.dir, "stamp")
		s, err := r.through(server{"one", []string{self, stampWord, file, r.fixture}})
		if err != nil {
			return err
		}
		for i, list := range []*[]float64{&cold, &warm} {
			// The sizes differ, as what is kept already is not kept again.
			if _, err := s.kept(r, payloadSize+i*1000); err != nil {
				return err
			}
			now := time.Now()
			last, err := readStamp(file)
			if err != nil {
				return err
			}
			*list = append(*list, now.Sub(last.at).Seconds())
			if i == 0 {
				coldCPU = append(coldCPU, float64(cpuTicks(s.Pid())-last.ticks)/100)
				memory = append(memory, float64(status(s.Pid(), "VmHWM"))/float64(last.size))
			}
		}
		_ = s.Close()
	}
	r.most("100 MB JSON, server's last byte → report", median(cold), 1, " s", fmt.Sprintf("first call of the process; CPU %.2f s", median(coldCPU)))
	r.info("  the next one in the same process", median(warm), "s")
	r.most("peak memory while keeping 100 MB / payload", median(memory), 2.5, "", "of the process, the result as it was sent")
	return nil
}

// kept makes a call whose result is spilled, and returns the report.
func (s *side) kept(r *rig, bytes int) (string, error) {
	return s.use(r, fmt.Sprintf(`{"action":"call","tool":"big","arguments":{"bytes":%d}}`, bytes))
}

// use gives the one tool one input and returns its text.
func (s *side) use(r *rig, input string) (string, error) {
	raw, err := s.Call(r.ctx, "proxy-dispatch", input, "")
	if err != nil {
		return "", err
	}
	var got struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(raw, &got); err != nil || len(got.Content) == 0 || got.IsError {
		return "", fmt.Errorf("%.200s gave %.500s: %w", input, raw, err)
	}
	return got.Content[0].Text, nil
}

// spillRatio compares a call that is spilled to one whose result an agent takes and decodes itself.
func (r *rig) spillRatio() error {
	for _, yard := range []struct {
		program string
		decode  func(json.RawMessage) error
	}{{r.echo, decodeText}, {r.fixture, nil}} {
		var ratios []float64
		note := ""
		for range r.rounds {
			d, err := r.direct(yard.program)
			if err != nil {
				return err
			}
			direct, _, err := r.bigCalls(d, payloadSize, 1, yard.decode)
			_ = d.Close()
			if err != nil {
				return err
			}
			spilled, err := r.spilledCall(yard.program)
			if err != nil {
				return err
			}
			ratios = append(ratios, spilled/direct)
			note = fmt.Sprintf("%.0f / %.0f ms in the last round", spilled, direct)
		}
		if yard.decode != nil {
			r.most("100 MB result, time with spill / direct call", median(ratios), 1.8, "", note)
		} else {
			r.info("  the same, neither side encodes or decodes", median(ratios), note)
		}
	}
	return nil
}

// spilledCall is the time in milliseconds of a call that is spilled; the server has its data ready.
func (r *rig) spilledCall(program string) (float64, error) {
	s, err := r.through(server{"one", []string{program}})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	// Passed on whole, so that the server makes its data and nothing is kept of it yet.
	if _, err := s.call("big", fmt.Sprintf(`{"bytes":%d}`, payloadSize)); err != nil {
		return 0, err
	}
	began := time.Now()
	_, err = s.kept(r, payloadSize)
	return float64(time.Since(began).Microseconds()) / 1000, err
}

// middle is the median of a list of any length.
func middle(list []int64) float64 {
	s := slices.Sorted(slices.Values(list))
	return float64(s[(len(s)-1)/2]+s[len(s)/2]) / 2
}

var reportShape = regexp.MustCompile(`(?s)Result kept: .*`)

// reports counts what reports of different results cost.
func (r *rig) reports() error {
	s, err := r.through(server{"one", []string{r.fixture}}, server{"two", []string{r.fixture}})
	if err != nil {
		return err
	}
	defer s.Close()
	c, err := tokens.New("")
	if err != nil {
		return err
	}
	var all []int64
	var note []string
	for _, kind := range []string{"records", "structured", "object", "log", "text", "blob"} {
		text, err := s.use(r, fmt.Sprintf(`{"action":"call","tool":"one/big","arguments":{"bytes":200000,"kind":%q}}`, kind))
		if err != nil {
			return err
		}
		n := c.Count(reportShape.FindString(text))
		all = append(all, int64(n))
		note = append(note, fmt.Sprintf("%s %d", kind, n))
	}
	most := all[0]
	for _, n := range all {
		most = max(most, n)
	}
	r.most("report of a kept result, tokens, the longest", float64(most), 300, "", strings.Join(note, ", "))
	r.most("report of a kept result, tokens, usual", middle(all), 150, "", "median of the kinds")
	return nil
}
