package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/strictjson"
)

// Two runners with one name are a mistake of the operator's. The younger gives
// way, because the older has sessions: at its start it refuses to begin, and if
// both were cut off from each other then, it takes no more sessions when they meet.
// Which one is younger is read from the order in which the servers took their
// first leases, never from clocks. No session is in danger meanwhile: addresses
// hold the incarnation.

// The messages between runners of one name.
const (
	helloMessage   = "hello" // a runner is about to start, and asks for another one
	presentMessage = "here"  // a runner that has started answers
)

// duplicateName is such a message, with the runner that sends it.
type duplicateName struct {
	Say     string `json:"say"`
	Address string `json:"address"`
	Born    uint64 `json:"born,omitempty"`
}

// Claim waits for a connection and makes sure that no other runner has this
// name. It returns [ErrNameTaken] if another one answers; such a runner must not
// start. From then on it answers others.
func (r *Runner) Claim(ctx context.Context) error {
	if err := r.conn.Wait(ctx); err != nil {
		return err
	}
	sub, err := r.conn.Subscribe(natsx.Namesakes(r.addr.Name), r.receiveName)
	if err != nil {
		return fmt.Errorf("cannot ask for runners with the same name: %w", err)
	}
	if err = r.conn.Flush(ctx); err == nil {
		err = r.announce(helloMessage)
	}
	if err != nil {
		sub.Stop()
		return fmt.Errorf("cannot ask for runners with the same name: %w", err)
	}
	select {
	case other := <-r.hello:
		sub.Stop()
		return fmt.Errorf("%w: %s runs as %s. Give each its own TIPSTAFF_RUNNER_NAME, or stop the other first", ErrNameTaken, r.addr.Name, other)
	case <-ctx.Done():
		sub.Stop()
		return context.Cause(ctx)
	case <-time.After(r.opt.Claim):
		r.mu.Lock()
		defer r.mu.Unlock()
		r.claimed = true
		return nil
	}
}

// Conflict is [ErrNameTaken] if an older runner with this name has turned up
// since Claim. This one takes no more sessions then, and should be stopped.
func (r *Runner) Conflict() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.conflict
}

func (r *Runner) announce(say string) error {
	r.mu.Lock()
	born := r.born
	r.mu.Unlock()
	b, err := json.Marshal(duplicateName{Say: say, Address: r.addr.String(), Born: born})
	if err != nil {
		return fmt.Errorf("cannot tell runners with the same name: %w", err)
	}
	return r.conn.Publish(natsx.Namesakes(r.addr.Name), "", b)
}

// receiveName takes what a runner of this name says; its own words come back, too.
func (r *Runner) receiveName(m natsx.Message) {
	var n duplicateName
	if strictjson.Unmarshal(m.Data, &n) != nil {
		return
	}
	other, err := natsx.ParseAddress(n.Address)
	if err != nil || other.Name != r.addr.Name || other == r.addr {
		return
	}
	r.mu.Lock()
	born, claimed := r.born, r.claimed
	r.mu.Unlock()
	switch {
	case n.Say == helloMessage && (claimed || before(r.addr, other)):
		_ = r.announce(presentMessage) // told again with the next renewal
	case n.Say == helloMessage:
		_ = r.announce(helloMessage) // the other has begun to listen after the first: it answers this one
	case n.Say == presentMessage && !claimed:
		select {
		case r.hello <- other:
		default:
		}
	case n.Say == presentMessage && n.Born > 0 && n.Born < born:
		r.giveWay(other)
	}
}

// before orders two that start at the same moment.
func before(a, b natsx.Address) bool {
	return strings.Compare(a.InstanceID.String(), b.InstanceID.String()) < 0
}

func (r *Runner) giveWay(other natsx.Address) {
	r.mu.Lock()
	first := r.conflict == nil
	r.conflict = fmt.Errorf("%w: %s was there before. This one takes no more sessions: give it another TIPSTAFF_RUNNER_NAME and start it again", ErrNameTaken, other)
	err := r.conflict
	r.mu.Unlock()
	if first {
		r.admission.close()
		r.opt.Log.Error("two runners with one name", "this", r.addr.String(), "other", other.String(), "why", err.Error())
		r.renewNow()
	}
}
