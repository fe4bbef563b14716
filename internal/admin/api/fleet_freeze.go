package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tipstaff/internal/fleet"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/policy/freeze"
)

// Who is frozen in a fleet stands in a bucket of the engine, signed by an operator's
// key, for the members that start later or cannot be asked now. Those that can be are
// told at once.

// mostFrozen bounds the freezes in force.
const mostFrozen = 1000

// Freeze refuses all commands of a target on all members, also on those that start
// later, and ends what runs of it, as [Freeze].
func (f *Fleet) Freeze(ctx context.Context, t freeze.Target, why string) (Frozen, error) {
	e := freeze.Entry{Target: t, Why: why}
	if err := e.Check(); err != nil {
		return Frozen{}, err
	}
	if len(why) > freeze.LongestWhy {
		return Frozen{}, fmt.Errorf("a reason has at most %d bytes", freeze.LongestWhy)
	}
	word, data, already, kept := f.write(ctx, t, why, false)
	if data == nil {
		return Frozen{}, kept
	}
	if kept != nil {
		kept = fmt.Errorf("it holds only where it was told, and only until those end: %w", kept)
	}
	out := Frozen{Entry: word.Entry, Stopped: Stopped{Commands: []Command{}}}
	all, err := f.askAll(ctx, request{Op: opTake, Word: data}, actPatience, true, false)
	errs := []error{kept, err}
	knew := 0
	for _, m := range all {
		if m.err != nil {
			errs = append(errs, m.because())
			continue
		}
		out.Servers++
		out.add(m.reply.Stopped)
		if m.reply.Already {
			knew++
		}
	}
	out.Already = already || knew > 0 && knew == out.Servers
	return out, errors.Join(errs...)
}

// Lift ends a freeze of exactly this target, as [Lift]. It is lifted if an entry is
// returned; an error beside it says which members were not told, and lift it as soon
// as they read the bucket.
func (f *Fleet) Lift(ctx context.Context, t freeze.Target) (freeze.Entry, error) {
	if err := t.Check(); err != nil {
		return freeze.Entry{}, err
	}
	before, data, _, err := f.write(ctx, t, "", true)
	if err != nil {
		return freeze.Entry{}, err
	}
	all, err := f.askAll(ctx, request{Op: opTake, Word: data}, actPatience, true, false)
	errs := []error{err}
	for _, m := range all {
		if m.err != nil {
			errs = append(errs, m.because())
		}
	}
	return before.Entry, errors.Join(errs...)
}

// write puts a word about a target into the bucket. Of a freeze it returns that word,
// or the one that stands there already; of a lift the freeze that it lifts. The data
// are the word in force; with an error they are those of a freeze that is not kept.
func (f *Fleet) write(ctx context.Context, t freeze.Target, why string, lift bool) (w fleet.FreezeOrder, data []byte, already bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	w = fleet.FreezeOrder{Lifted: lift}
	w.Entry = freeze.Entry{Target: t, Why: why, By: f.person.Name, UID: f.person.UID, Operator: f.self.Name}
	for tries := 0; ; tries++ {
		there, old, err := f.read(ctx, t)
		frozen := err == nil && there.found && !old.Lifted
		switch {
		case err != nil && lift:
			return w, nil, false, err
		case lift && !frozen:
			return w, nil, false, freeze.ErrNotFrozen
		case frozen && !lift && there.believed:
			return old, there.data, true, nil
		case err == nil && !lift && there.frozen >= mostFrozen:
			return w, nil, false, fmt.Errorf("%d freezes are in force, and no more than that can be: lift those that are done", there.frozen)
		}
		w.At = time.Now().UTC().Truncate(time.Millisecond)
		// Another operator's clock may be ahead; what nobody knows has signed may say
		// anything.
		if ahead := old.At.Sub(w.At); ahead >= 0 && (there.believed || ahead < mostAhead) {
			w.At = old.At.Add(time.Millisecond)
		}
		signed, fault := w.Sign(f.signer)
		if fault != nil {
			return w, nil, false, fault
		}
		if err == nil {
			err = f.conn.PutFrozen(ctx, fleet.FrozenKey(t), there.sequence, signed)
		}
		switch {
		case errors.Is(err, natsx.ErrRaced) && tries < 3:
			continue
		case err != nil && lift:
			return w, nil, false, fmt.Errorf("it stays frozen: %w", err)
		case lift:
			return old, signed, false, nil
		}
		return w, signed, false, err
	}
}

// mostAhead is how far the clock of an operator may be ahead that is not known here.
const mostAhead = time.Hour

// standing is what the bucket has of one target.
type standing struct {
	found    bool
	believed bool // the one who has signed it is known
	sequence uint64
	data     []byte
	frozen   int // how many targets are frozen in all
}

// read reads the bucket.
func (f *Fleet) read(ctx context.Context, t freeze.Target) (standing, fleet.FreezeOrder, error) {
	if err := f.conn.State(); err != nil {
		return standing{}, fleet.FreezeOrder{}, err
	}
	all, err := f.conn.Frozen(ctx)
	if err != nil {
		return standing{}, fleet.FreezeOrder{}, err
	}
	var there standing
	var word fleet.FreezeOrder
	for _, k := range all {
		w, err := fleet.PeekFreezeOrder(k.Data)
		if err == nil && !w.Lifted {
			there.frozen++
		}
		if k.Key != fleet.FrozenKey(t) {
			continue
		}
		there.sequence = k.Sequence
		if err == nil && w.Target == t {
			there.found, there.data, word = true, k.Data, w
			_, fault := fleet.ReadFreezeOrder(f.known, k.Data)
			there.believed = fault == nil
		}
	}
	return there, word, nil
}
