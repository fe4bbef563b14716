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

// place returns the runner that a call has to go to; known is false if any will do.
func (g *Gateway) place(ctx context.Context, c *Call) (a engine.Address, known bool, err error) {
	switch {
	case c.Target != "":
		a, err = g.opts.Fleet.Find(c.Target)
		return a, true, missing(c.Target, err)
	case !c.Given:
		return a, false, nil
	}
	a, err = g.opts.Fleet.Find(c.ID)
	switch {
	case errors.Is(err, ErrNoAddress):
		a, err = g.claim(ctx, c)
		return a, true, err
	case err != nil:
		return a, true, unknownOutcome(*c, Progress{}, "The runner that the call was sent to is not there.")
	}
	c.Joins = true // a gateway has made this id, for a call whose outcome it does not know
	return a, true, nil
}

// claim returns the one runner that a call with its caller's own id goes to, by
// whatever gateway.
func (g *Gateway) claim(ctx context.Context, c *Call) (a engine.Address, err error) {
	if g.opts.Claims == nil {
		return a, unclaimed(errors.New("this gateway has nowhere to write it"))
	}
	err = g.opts.Fleet.Place(ctx, *c, func(_ context.Context, best engine.Address) error { a = best; return nil })
	if err != nil {
		return a, err
	}
	key := sha256.Sum256([]byte(c.Principal + "\x00" + c.ID))
	ctx, cancel := context.WithTimeout(ctx, g.opts.Patience)
	defer cancel()
	a, err = g.opts.Claims.Claim(ctx, hex.EncodeToString(key[:]), a)
	switch {
	case err != nil:
		return a, unclaimed(err)
	case !g.opts.Fleet.Held(a):
		return a, unknownOutcome(*c, Progress{}, "The runner that the call with this command_id was sent to is gone.")
	}
	return a, nil
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
		return tipstaff.NoSession(id)
	}
	return tipstaff.NoCommand(id)
}

// TurnedAway reports whether a runner has no room, so that another may have.
func TurnedAway(err error) bool {
	var e *tipstaff.Error
	return errors.As(err, &e) && (e.Code == tipstaff.Busy || e.Code == tipstaff.MaxSessionsExceeded && e.Rule == "sessions")
}
