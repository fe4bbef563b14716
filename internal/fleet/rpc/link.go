package rpc

import (
	"context"

	"tipstaff/internal/fleet/natsx"
)

// Link carries messages between gateways and runners. A message may be lost, and
// comes at most once; those of one sender to one subject come in their order. An
// [*natsx.Conn] is one, through [Over].
type Link interface {
	// Publish sends a message. With a reply subject to which this side is
	// subscribed, a message with Nobody set comes there if nobody listens. An error
	// means that the message was not sent and will not be.
	Publish(subject, reply string, data []byte) error
	// Subscribe has handle called for each message, one at a time.
	Subscribe(subject string, handle func(natsx.Message)) (stop func(), err error)
	// MaxPayload is the size of the largest message in bytes; 0: not known yet.
	MaxPayload() int64
}

// Signer signs what a gateway sends. An [*natsx.Signer] is one.
type Signer interface {
	Sign(st natsx.Statement, message []byte) ([]byte, error)
}

// Verifier judges what a runner gets. An [*natsx.Verifier] is one.
type Verifier interface {
	Verify(statement, message []byte) (natsx.Statement, error)
}

// Fleet knows the runners.
type Fleet interface {
	// Find returns the runner that an id leads to: ErrNoAddress if the id has not the
	// form of one that does, ErrUnknown if it leads nowhere, ErrGone if its runner
	// holds no lease any more.
	Find(id string) (natsx.Address, error)
	// Place asks try of one runner after another, the best in front, until one takes
	// a call that any could take: until try returns no error of [TurnedAway]. It
	// waits for room, within bounds. Its errors are for the caller.
	Place(ctx context.Context, c Call, try func(context.Context, natsx.Address) error) error
	// Held reports whether a runner holds its lease.
	Held(a natsx.Address) bool
	// NewID makes an id for a command, which leads to a runner.
	NewID(a natsx.Address) string
}

// Claims remembers which runner a call went to whose id its caller has chosen and
// that any runner could take, so that the same call made again at another gateway
// goes to the same one.
type Claims interface {
	// Claim gives a key to a runner, and returns it; if the key was given before, it
	// returns the runner that has it.
	Claim(ctx context.Context, key string, a natsx.Address) (natsx.Address, error)
}

// Over is the link over a connection to the engine.
func Over(c *natsx.Conn) Link { return overEngine{c} }

type overEngine struct{ *natsx.Conn }

func (o overEngine) Subscribe(subject string, handle func(natsx.Message)) (stop func(), err error) {
	s, err := o.Conn.Subscribe(subject, handle)
	if err != nil {
		return nil, err
	}
	return s.Stop, nil
}
