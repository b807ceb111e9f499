package config

import (
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

// Transparent shapes the face transparent.
type Transparent struct {
	Names string        // prefixed or plain; "" = prefixed
	Wait  time.Duration // of the first lists, for servers nobody has heard of; 0 = the default of the room
	Spill bool          // large results are kept and a report is shown
}

func (d *decoder) transparent(f *fields) {
	_, n := f.take("transparent")
	t := d.mapping(n, "transparent.")
	d.out.Transparent = Transparent{Names: t.enum("names", "prefixed", "plain"), Wait: t.duration("wait"), Spill: t.bool("spill")}
	t.done()
}

func (w writer) transparent(n *notation.Node, t Transparent) {
	w.string(n, "names", t.Names)
	w.duration(n, "wait", t.Wait)
	w.flag(n, "spill", t.Spill)
}
