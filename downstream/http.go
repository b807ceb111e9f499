package downstream

import (
	"context"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/remote"
)

func (m *member) dialHTTP(_ context.Context, s *session) (conn, error) {
	return dialled(m.remote.Dial(s.heard))
}

func (m *member) dialSSE(ctx context.Context, s *session) (conn, error) {
	return dialled(m.remote.DialSSE(ctx, s.heard))
}

func dialled(c *remote.Conn, err error) (conn, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}
