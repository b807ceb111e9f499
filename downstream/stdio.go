package downstream

import (
	"context"
	"log/slog"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/process"
	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

const (
	maxBabble = 200     // bytes shown of what is no message
	maxRaw    = 4 << 10 // bytes of it in which secrets are looked for before it is cut
)

// stdioConn is the connection to a stdio server: its process and the wire to it.
type stdioConn struct {
	*wire.Conn
	proc *process.Process
}

func (m *member) dialStdio(_ context.Context, s *session) (conn, error) {
	o := m.options
	proc, err := process.Start(process.Options{
		Command: o.Command, Args: o.Args, Env: o.Env, Dir: o.Dir, Log: m.log, Show: m.shown, Watcher: m.fleet.watcher,
	})
	if err != nil {
		return nil, err
	}
	garbage := func(line []byte) {
		m.babble.Line(slog.LevelWarn, "server wrote something that is no message to its stdout", m.shown(string(line[:min(len(line), maxRaw)]), maxBabble))
	}
	w := wire.New(wire.Options{
		In: proc.Stdout, Out: proc.Stdin, Max: m.fleet.options.MaxMessage,
		Framing: m.framing, Ears: s.ears(), Garbage: garbage, Over: proc.Why,
	})
	return &stdioConn{w, proc}, nil
}

func (c *stdioConn) Close() {
	c.Lose(wire.ErrLost)
	c.proc.End()
	c.Wait()
}

var _ conn = (*stdioConn)(nil)
