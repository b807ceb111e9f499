package hook

import (
	"context"
	"fmt"

	"github.com/gobwas/glob"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

// RequireAuth lets only known agents through: those with a principal that one of the globs matches, or with any where
// there are none.
func RequireAuth(principals ...string) (dispatch.Hook, error) {
	var globs []*glob.Pattern
	for _, p := range principals {
		g, err := glob.Compile(p)
		if err != nil {
			return nil, fmt.Errorf("principal %q: %w", p, err)
		}
		globs = append(globs, g)
	}
	return dispatch.HookFunc(func(_ context.Context, c dispatch.HookCall) (dispatch.Verdict, error) {
		if c.Agent.Principal == "" {
			return dispatch.Verdict{Abort: fmt.Sprintf("%s is called for known agents only", c.Shown), Code: dispatch.AuthRequired}, nil
		}
		for _, g := range globs {
			if g.Match(c.Agent.Principal) {
				return dispatch.Verdict{}, nil
			}
		}
		if len(globs) > 0 {
			return dispatch.Verdict{Abort: fmt.Sprintf("%s is not for %s", c.Shown, c.Agent.Principal)}, nil
		}
		return dispatch.Verdict{}, nil
	}), nil
}
