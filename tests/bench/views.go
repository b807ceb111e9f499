package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// hookWord makes this program a hook that a command answers: every line it is given, it answers with one.
const hookWord = "answer-hooks"

func answerHooks() error {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	for {
		if _, err := in.ReadBytes('\n'); err != nil {
			return nil
		}
		if _, err := out.WriteString("{\"meta\":{\"seen\":true}}\n"); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

const benchHook = `export function pre_call(context, args) { return { args, meta: { seen: context.tool } }; }`

// shapings are the views that calls are measured in, as members of the configuration.
func (r *rig) shapings() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(r.dir, "hook.js"), []byte(benchHook), 0o600); err != nil {
		return "", err
	}
	quoted := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	tool := `"exposure": "dispatch", "tools": {"echo": {"echo": {}}}`
	return `"views": {
  "shaped": {"exposure": "dispatch", "tools": {"echo": {"echo": {"name": "say", "parameters": {"message": {"rename": "words"}, "extra": {"value": 1}}}}}},
  "scripted": {` + tool + `, "hooks": {"pre_call": ` + quoted(filepath.Join(r.dir, "hook.js")+"#pre_call") + `}},
  "piped": {` + tool + `, "hooks": {"pre_call": {"mode": "pool", "command": [` + quoted(self) + `, ` + quoted(hookWord) + `]}}}
}`, nil
}

// views compares calls in views and with hooks with the plain ones.
func (r *rig) views() error {
	more, err := r.shapings()
	if err != nil {
		return err
	}
	echo := server{"echo", []string{r.echo}}
	var sides []*side
	for _, args := range [][]string{nil, {"--view", "shaped"}, {"--view", "scripted"}, {"--view", "piped"}} {
		s, err := r.serving(more, args, echo)
		if err != nil {
			return err
		}
		defer s.Close()
		sides = append(sides, s)
	}
	calls := []string{`{"message":"hello"}`, `{"words":"hello"}`, `{"message":"hello"}`, `{"message":"hello"}`}
	tools := []string{"echo/echo", "echo/say", "echo/echo", "echo/echo"}
	ratios := make([][]float64, len(sides))
	for round := range r.rounds + 1 {
		times := make([][]float64, len(sides))
		for range r.calls / 3 {
			for i, s := range sides { // in turn, so that the machine's moods reach all
				began := time.Now()
				if _, err := s.call(tools[i], calls[i]); err != nil {
					return fmt.Errorf("%s: %w", tools[i], err)
				}
				times[i] = append(times[i], float64(time.Since(began)))
			}
		}
		if round == 0 {
			continue // warm
		}
		for i := range sides {
			slices.Sort(times[i])
			slices.Sort(times[0])
			ratios[i] = append(ratios[i], times[i][len(times[i])/2]/times[0][len(times[0])/2])
		}
	}
	r.most("call in a view with rename and binding / plain call", median(ratios[1]), 1.1, "", "p50")
	r.most("call with a script hook / plain call", median(ratios[2]), 2, "", "p50")
	r.most("call with a pooled command hook / plain call", median(ratios[3]), 5, "", "p50")
	return nil
}
