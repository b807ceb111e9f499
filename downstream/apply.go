package downstream

import (
	"context"
	"fmt"
	"time"
)

// roster is which servers there are at one moment. It is immutable.
type roster struct {
	order  []*member
	byName map[string]*member
}

// drainTime is how long the requests of a server that was taken out may go on.
const drainTime = time.Minute

// member gives the server of a name, nil if there is none.
func (f *Fleet) member(name string) *member { return f.roster.Load().byName[name] }

// enlist makes a roster of servers, with the members of the old one that stay as they are, and names the new ones.
func (f *Fleet) enlist(old *roster, servers []Server) (r *roster, fresh []*member, err error) {
	r = &roster{byName: map[string]*member{}}
	for _, s := range servers {
		if s.Name == "" || r.byName[s.Name] != nil {
			return nil, nil, fmt.Errorf("server name %q is empty or taken", s.Name)
		}
		s = s.withDefaults()
		m := old.byName[s.Name]
		if m == nil || !m.options.same(s) {
			if m, err = newMember(f, s); err != nil {
				return nil, nil, err
			}
			fresh = append(fresh, m)
		}
		r.byName[s.Name] = m
		r.order = append(r.order, m)
	}
	return r, fresh, nil
}

// same says if a server may go on as it is under the other options.
func (s Server) same(o Server) bool {
	return s.ID != "" && s.ID == o.ID && (s.Unset == nil) == (o.Unset == nil) && s.Disabled == o.Disabled && s.Lazy == o.Lazy &&
		s.Timeout == o.Timeout && s.StartTimeout == o.StartTimeout && s.Protocol == o.Protocol && s.Framing == o.Framing && s.PerAgent == o.PerAgent
}

// Apply puts other servers in the place of those there are. Servers whose ID and settings stay keep their sessions.
// From now on no request goes to a server that was taken out or changed; those under way have a minute to end. New
// servers start as with Start, if that was called. If servers are refused, as by New, nothing changes.
func (f *Fleet) Apply(servers []Server) error {
	f.applying.Lock()
	defer f.applying.Unlock()
	if f.life.Err() != nil {
		return errClosing
	}
	old := f.roster.Load()
	next, fresh, err := f.enlist(old, servers)
	if err != nil {
		return err
	}
	f.roster.Store(next)
	for _, m := range old.order {
		if next.byName[m.options.Name] != m {
			f.dismiss(m)
		}
	}
	if f.started.Load() {
		for _, m := range fresh {
			m.start()
		}
	}
	return nil
}

// dismiss ends a member that is in no roster any longer. It takes no request from now on; who comes too late finds its
// successor. Its sessions end when those that use them have done.
func (f *Fleet) dismiss(m *member) {
	for _, one := range append(m.agents.close(errReplaced), m) {
		one.dismissed.Store(true)
		one.mu.Lock()
		one.shut(errReplaced)
		one.mu.Unlock()
		f.supervisors.Go(func() {
			ctx, cancel := context.WithTimeout(f.life, drainTime)
			defer cancel()
			one.drain(ctx)
			one.retire(errReplaced)
		})
	}
}

// drain returns when nobody uses the member, or when ctx ends.
func (m *member) drain(ctx context.Context) {
	unused := make(chan struct{}, 1)
	m.unused.Store(&unused)
	if m.users.Load() == 0 {
		return
	}
	select {
	case <-unused:
	case <-ctx.Done():
	}
}

// leave takes back what of counted.
func (m *member) leave() {
	if m.users.Add(-1) > 0 {
		return
	}
	if unused := m.unused.Load(); unused != nil {
		select {
		case *unused <- struct{}{}:
		default:
		}
	}
}
