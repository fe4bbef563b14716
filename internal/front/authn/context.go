package authn

import "context"

type principalKey struct{}

// NewContext returns a context that holds p as the sender of the request.
func NewContext(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// FromContext returns the sender of the request, or the zero Principal if the
// context has none.
func FromContext(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}
