package downstream

import "context"

func (m *member) dialHTTP(_ context.Context, s *session) (conn, error) {
	c, err := m.remote.Dial(s.ears())
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (m *member) dialSSE(ctx context.Context, s *session) (conn, error) {
	c, err := m.remote.DialSSE(ctx, s.ears())
	if err != nil {
		return nil, err
	}
	return c, nil
}
