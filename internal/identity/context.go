package identity

import "context"

type principalKey struct{}

// NewContext returns a context of a request that p has sent.
func NewContext(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// FromContext returns who has sent the request: nobody, if nobody has found out.
func FromContext(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}
