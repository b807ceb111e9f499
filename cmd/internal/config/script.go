package config

import (
	"math"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

// Script says whether agents may run code, and what bounds a run. Modules of hooks and tools are held to the same.
type Script struct {
	Enabled bool
	Timeout time.Duration // 0 = the default of the room, as below
	Memory  int64         // bytes
	Calls   int           // of one run
}

func (d *decoder) script(f *fields) {
	_, n := f.take("script")
	if n == nil || n.AsksNothing() {
		return
	}
	s := d.mapping(n, "script.")
	d.out.Script = Script{Enabled: s.bool("enabled"), Timeout: s.duration("timeout"),
		Memory: s.count("memory", 1<<20, math.MaxInt32), Calls: int(s.count("calls", 1, 1_000_000))}
	s.done()
}

func (w writer) script(n *notation.Node, s Script) {
	w.section(n, "script", func(n *notation.Node) {
		w.flag(n, "enabled", s.Enabled)
		w.duration(n, "timeout", s.Timeout)
		w.number(n, "memory", s.Memory)
		w.number(n, "calls", int64(s.Calls))
	})
}
