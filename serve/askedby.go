package serve

import "context"

type askedByKey struct{}

// AskedBy tells, in the context of a Contact's or Peer's Ask, which server asks: the agent sees it in the request's id.
func AskedBy(ctx context.Context, server string) context.Context {
	return context.WithValue(ctx, askedByKey{}, server)
}

// askedBy is the server that asks; "" if nobody said.
func askedBy(ctx context.Context) string {
	server, _ := ctx.Value(askedByKey{}).(string)
	return server
}
