package rpc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"tipstaff"
	"tipstaff/internal/fleet/natsx"
)

// place returns the runner that a call has to go to; known is false if any will do.
func (g *Gateway) place(ctx context.Context, c *Call) (a natsx.Address, known bool, err error) {
	switch {
	case c.Target != "":
		a, err = g.opts.Fleet.Find(c.Target)
		return a, true, missing(c.Target, err)
	case !c.Given && c.At != "":
		a, err = g.named(c.At)
		return a, true, err
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

// named is the runner with an address, if it holds its lease.
func (g *Gateway) named(address string) (natsx.Address, error) {
	a, err := natsx.ParseAddress(address)
	if err != nil || !g.opts.Fleet.Held(a) {
		return a, &tipstaff.Error{
			Code: tipstaff.Unavailable, Rule: Rule, Err: errors.Join(ErrGone, err),
			Msg:  "The runner that has asked this question is gone; nothing ran.",
			Hint: "Make the call again without the answer (requestState and inputResponses): a person will be asked again if that is needed.",
		}
	}
	return a, nil
}

// claim returns the one runner that a call with its caller's own id goes to, by
// whatever gateway.
func (g *Gateway) claim(ctx context.Context, c *Call) (a natsx.Address, err error) {
	if g.opts.Claims == nil {
		return a, unclaimed(errors.New("this gateway has nowhere to write it"))
	}
	if err := g.claims.count(c.Principal, time.Now()); err != nil {
		return a, err
	}
	err = g.opts.Fleet.Place(ctx, *c, func(_ context.Context, best natsx.Address) error { a = best; return nil })
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

// ownClaims is how many calls a principal may name in claimsEvery at one gateway. All
// gateways share one bucket of claims, and one caller must not fill it for all.
const (
	ownClaims   = 10_000
	claimsEvery = time.Hour
)

// claimCounts counts the claims of principals. The zero claimCounts is ready.
type claimCounts struct {
	mu  sync.Mutex
	all map[string]*claimCount
}

type claimCount struct {
	from time.Time
	n    int
}

// count counts one claim more, or says why there can be none.
func (k *claimCounts) count(principal string, now time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.all[principal]
	if c == nil || now.Sub(c.from) >= claimsEvery {
		maps.DeleteFunc(k.all, func(_ string, old *claimCount) bool { return now.Sub(old.from) >= claimsEvery })
		if k.all == nil {
			k.all = map[string]*claimCount{}
		}
		c = &claimCount{from: now}
		k.all[principal] = c
	}
	if c.n >= ownClaims {
		return tooManyNames(c.from.Add(claimsEvery).Sub(now))
	}
	c.n++
	return nil
}

func tooManyNames(after time.Duration) error {
	return &tipstaff.Error{
		Code: tipstaff.Busy, Rule: Rule,
		Msg:     fmt.Sprintf("You have given %d calls outside of sessions a command_id within an hour, and no more than that can be. Nothing ran.", ownClaims),
		Hint:    "Make the call without command_id, or in a session, where ids are not bounded like this.",
		Details: map[string]any{"limit": ownClaims, "retry_after_ms": after.Milliseconds()},
	}
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
