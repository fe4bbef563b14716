package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"tipstaff"
	"tipstaff/internal/engine"
)

// mostTried is how many runners are asked at most whether they have room.
const mostTried = 5

// places returns the runners to ask, in this order.
func (g *Gateway) places(ctx context.Context, c *Call) ([]engine.Address, error) {
	if c.Target != "" {
		a, err := g.opts.Fleet.Find(c.Target)
		return []engine.Address{a}, missing(c.Target, err)
	}
	if c.Given {
		if a, err := g.opts.Fleet.Find(c.ID); !errors.Is(err, ErrNoAddress) {
			// A gateway has made this id, for a call whose outcome it does not know.
			c.Joins = true
			if err != nil {
				return nil, unknownOutcome(*c, Progress{}, "The runner that the call was sent to is gone.")
			}
			return []engine.Address{a}, nil
		}
	}
	places, err := g.opts.Fleet.Place(ctx, *c)
	if err != nil {
		return nil, err
	}
	if !c.Given {
		return places[:min(len(places), mostTried)], nil
	}
	return g.claim(ctx, c, places)
}

// claim returns the one runner that a call with its caller's own id goes to, by
// whatever gateway.
func (g *Gateway) claim(ctx context.Context, c *Call, places []engine.Address) ([]engine.Address, error) {
	if len(places) == 0 {
		return nil, busy()
	}
	if g.opts.Claims == nil {
		return nil, unclaimed(errors.New("this gateway has nowhere to write it"))
	}
	key := sha256.Sum256([]byte(c.Principal + "\x00" + c.ID))
	ctx, cancel := context.WithTimeout(ctx, g.opts.Patience)
	defer cancel()
	a, err := g.opts.Claims.Claim(ctx, hex.EncodeToString(key[:]), places[0])
	switch {
	case err != nil:
		return nil, unclaimed(err)
	case !g.opts.Fleet.Held(a):
		return nil, unknownOutcome(*c, Progress{}, "The runner that the call with this command_id was sent to is gone.")
	}
	return []engine.Address{a}, nil
}

func unclaimed(why error) error {
	return &tipstaff.Error{
		Code: tipstaff.Unavailable, Rule: Rule, Err: why,
		Msg:  "It cannot be written down now which runner gets the call with this command_id, so it was not sent, and nothing ran.",
		Hint: "Make the same call again, or make it in a session: its runner is known. Without command_id it runs, but a broken connection leaves its outcome open.",
	}
}

// missing is the error for an id that leads to no runner.
func missing(id string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrGone):
		return lost(id)
	case strings.HasPrefix(id, "term-"):
		return noSession(id)
	}
	return noCommand(id)
}

// turnedAway reports whether a runner has no room, so that another may have.
func turnedAway(err error) bool {
	var e *tipstaff.Error
	return errors.As(err, &e) && (e.Code == tipstaff.Busy || e.Code == tipstaff.MaxSessionsExceeded && e.Rule == "sessions")
}
