package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tipstaff/internal/policy/freeze"
)

// What a client asks of all servers of a state directory at once. A server that does
// not answer holds up nothing but its own part.

// lookPatience is how long a client waits for a server that is asked what it does.
const lookPatience = 2 * time.Second

// sockets returns the names of the sockets of servers; of some nobody may listen any
// more.
func sockets(state string) (dir string, names []string, err error) {
	dir = Directory(state)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return dir, nil, fmt.Errorf("cannot look for servers: %w", err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) && !strings.HasPrefix(e.Name(), fresh) {
			names = append(names, e.Name())
		}
	}
	return dir, names, nil
}

// pidOf reads the process id in the name of a socket; 0: there is none.
func pidOf(name string) int {
	text, _, _ := strings.Cut(name, "-")
	pid, _ := strconv.Atoi(text)
	return pid
}

// said is what one server has answered.
type said struct {
	name  string
	reply reply
	err   error
}

// How long askAll waits for the others when one server has done what was asked: as long
// as for that one, not at all, or a little: where one has frozen a caller the freeze holds
// for all, and what the others end is soon ended.
const (
	forAll    = time.Duration(-1)
	forOne    = time.Duration(0)
	forOthers = 3 * time.Second
)

// errLate: the others have answered.
var errLate = fmt.Errorf("it has said nothing %s after another one had done it", forOthers)

// askAll asks all servers at the same time. Those that have ended are left out.
func askAll(ctx context.Context, dir string, names []string, r request, patience, rest time.Duration) []said {
	ctx, enough := context.WithCancelCause(ctx)
	defer enough(nil)
	all := make([]said, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		asking.Go(func() {
			out, err := askWithin(ctx, dir, name, r, patience)
			all[i] = said{name, out, err}
			switch {
			case err != nil || rest == forAll:
			case rest == forOne:
				enough(nil)
			default:
				time.AfterFunc(rest, func() { enough(errLate) })
			}
		})
	}
	asking.Wait()
	return slices.DeleteFunc(all, func(s said) bool { return s.err != nil && gone(s.err) })
}

func now(ctx context.Context, state string, dir string, names []string) Overview {
	out := Overview{Servers: []Running{}, Frozen: []freeze.Entry{}}
	for _, s := range askAll(ctx, dir, names, request{Op: opNow}, lookPatience, forAll) {
		switch {
		case s.err != nil:
			out.Servers = append(out.Servers, Running{PID: pidOf(s.name), Silent: s.err.Error(), Sessions: []Session{}, Commands: []Command{}})
		case s.reply.Now != nil:
			out.Servers = append(out.Servers, *s.reply.Now)
		}
	}
	slices.SortStableFunc(out.Servers, func(a, b Running) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.PID, b.PID))
	})
	frozen, err := freeze.NewBook(Directory(state)).Entries()
	if err != nil {
		out.Fault = err.Error()
	}
	out.Frozen = append(out.Frozen, frozen...)
	out.known()
	return out
}

// known adds who is frozen in the fleet, as its members say.
func (o *Overview) known() {
	for _, s := range o.Servers {
		for _, e := range s.Frozen {
			if !slices.ContainsFunc(o.Frozen, func(f freeze.Entry) bool { return f.Target == e.Target }) {
				o.Frozen = append(o.Frozen, e)
			}
		}
	}
	slices.SortStableFunc(o.Frozen, func(a, b freeze.Entry) int { return a.At.Compare(b.At) })
}

// actPatience is how long a client waits for a server that ends something.
const actPatience = 10 * time.Second

func stop(ctx context.Context, state, id string, kill bool) (Stopped, error) {
	dir, names, err := sockets(state)
	if err != nil {
		return Stopped{}, err
	}
	out, known := Stopped{Commands: []Command{}}, false
	var errs []error
	for _, s := range askAll(ctx, dir, names, request{Op: opStop, ID: id, Kill: kill}, actPatience, forOne) {
		switch {
		case errors.Is(s.err, ErrUnknown):
		case s.err != nil:
			errs = append(errs, s.because())
		default:
			known = true
			out.add(s.reply.Stopped)
		}
	}
	if !known {
		errs = append(errs, ErrUnknown)
		return out, errs[0]
	}
	return out, nil
}

func (s *Stopped) add(more *Stopped) {
	if more != nil {
		s.Commands = append(s.Commands, more.Commands...)
		s.Sessions = append(s.Sessions, more.Sessions...)
	}
}

// because is why a server did not do what it was asked.
func (s said) because() error {
	return fmt.Errorf("server %s: %w", strings.TrimSuffix(s.name, suffix), s.err)
}

func freezeAll(ctx context.Context, state string, t freeze.Target, why string, alone Record) (Frozen, error) {
	e := freeze.Entry{Target: t, Why: why}
	if err := e.Check(); err != nil {
		return Frozen{}, err
	}
	dir, names, err := sockets(state)
	if err != nil {
		return Frozen{}, err
	}
	out := Frozen{Stopped: Stopped{Commands: []Command{}}}
	var errs []error
	all := askAll(ctx, dir, names, request{Op: opFreeze, Target: &t, Why: why}, actPatience, forOthers)
	for _, s := range all {
		if s.err != nil {
			errs = append(errs, s.because())
			continue
		}
		out.Servers++
		out.add(s.reply.Stopped)
		if s.reply.Entry != nil {
			out.Entry = *s.reply.Entry
			out.Already = s.reply.Already && (out.Servers == 1 || out.Already)
		}
	}
	if out.Servers == 0 { // it holds for those that start later, and for those that did not answer
		out.Entry, out.Already, err = freezeAlone(dir, e, alone)
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}

func lift(ctx context.Context, state string, t freeze.Target, alone Record) (freeze.Entry, error) {
	if err := t.Check(); err != nil {
		return freeze.Entry{}, err
	}
	dir, names, err := sockets(state)
	if err != nil {
		return freeze.Entry{}, err
	}
	var errs []error
	var not error
	for _, s := range askAll(ctx, dir, names, request{Op: opLift, Target: &t}, actPatience, forOne) { // they share the file
		switch {
		case s.err == nil && s.reply.Entry != nil:
			return *s.reply.Entry, nil
		case errors.Is(s.err, freeze.ErrNotFrozen):
			not = s.err
		case s.err != nil:
			errs = append(errs, s.because())
		}
	}
	if err := cmp.Or(not, errors.Join(errs...)); err != nil {
		return freeze.Entry{}, err
	}
	return liftAlone(dir, t, alone)
}
