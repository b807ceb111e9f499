package downstream

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// agents are the members of one server that belong to one agent each. A nil one is a server that all share.
type agents struct {
	m    *member // the shared one, which the catalog and nobody in particular use
	most int

	mu     sync.Mutex
	own    map[string]*member
	closed error // why nobody may enter any longer
}

// of gives the member that serves an agent and counts its user, who takes that back.
func (m *member) of(asker string) (*member, error) {
	if m.agents == nil || asker == "" {
		m.users.Add(1)
		return m, nil
	}
	own, err := m.agents.enter(asker)
	if err != nil {
		return m, err
	}
	return own, nil
}

// enter finds or makes the member of an agent. When there are too many, the one that has been idle longest ends.
func (a *agents) enter(asker string) (*member, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	own := a.own[asker]
	if own == nil {
		if a.closed != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, a.closed)
		}
		if len(a.own) >= a.most && !a.evict() {
			return nil, fmt.Errorf("%w: %w (%d)", ErrUnavailable, errAgents, a.most)
		}
		var err error
		if own, err = newMember(a.m.fleet, a.m.options); err != nil {
			return nil, err
		}
		own.agents, own.asker, own.among, own.remote = nil, asker, a, a.m.remote
		if a.own == nil {
			a.own = map[string]*member{}
		}
		a.own[asker] = own
	}
	own.users.Add(1)
	own.used.Store(time.Now().UnixNano())
	return own, nil
}

// evict ends the member that was not used for longest, unless all are in use. The caller holds mu.
func (a *agents) evict() bool {
	var oldest *member
	for _, m := range a.own {
		if m.users.Load() == 0 && (oldest == nil || m.used.Load() < oldest.used.Load()) {
			oldest = m
		}
	}
	if oldest == nil {
		return false
	}
	delete(a.own, oldest.asker)
	oldest.retire(errIdle)
	return true
}

// retireIdle takes a member out if nobody has used it for long.
func (a *agents) retireIdle(m *member) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if m.users.Load() > 0 || time.Since(time.Unix(0, m.used.Load())) < a.m.fleet.options.AgentIdle {
		return false
	}
	if a.own[m.asker] == m {
		delete(a.own, m.asker)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shut(errIdle)
	return true
}

// get gives the member of an agent, nil if it has none.
func (a *agents) get(asker string) *member {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.own[asker]
}

// remove takes the member of an agent out, nil if it has none.
func (a *agents) remove(asker string) *member {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.own[asker]
	delete(a.own, asker)
	return m
}

// close lets nobody enter any longer, and gives the members there are.
func (a *agents) close(why error) []*member {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	a.closed = why
	a.mu.Unlock()
	return a.all()
}

// all gives the members of all agents.
func (a *agents) all() []*member {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []*member
	for _, m := range a.own {
		all = append(all, m)
	}
	return all
}

// retire ends the session of a member, which was taken out, for good, without waiting for that.
func (m *member) retire(why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shut(why)
	if m.interrupt != nil {
		m.interrupt(why)
	}
}

type askerKey struct{}

func withAsker(ctx context.Context, asker string) context.Context {
	return context.WithValue(ctx, askerKey{}, asker)
}

// AskerOf tells, in Options.Asked, whose own session the request comes from; "" if the session is shared.
func AskerOf(ctx context.Context) string {
	asker, _ := ctx.Value(askerKey{}).(string)
	return asker
}
