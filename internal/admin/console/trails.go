package console

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/audit/query"
	"tipstaff/internal/fleet/natsx"
)

// Copies are the copies of a whole fleet's trails: a [replicate.Copies] that is bounded.
// Below its root are members, and below those their trails.
type Copies interface { //nolint:interfacebloat // what all pages together need of one type
	fs.FS
	// RefreshWithin takes in what is new. An interrupted one goes on with the next.
	RefreshWithin(ctx context.Context) error
	// Listed is how much is known, and Left what a bound leaves out.
	Listed() (batches, trails int)
	Left() (trails int, latest time.Time)
	// Latest is when the last of a trail came, Names whose copies there are.
	Latest(name, trail string) time.Time
	Names() []string
}

// site is where trails lie: the directory of this machine, or the copies of a fleet.
type site struct {
	in    audit.Files
	dir   string
	fleet bool
}

// trails is the one source of trails of all pages.
type trails struct {
	own    site
	copies Copies // nil: there is no fleet, or its copies cannot be read
	lacks  string // what it takes to read them; "": there is no fleet

	mu      sync.Mutex
	running chan struct{} // closed at the end of the refresh that runs; nil: none does
	done    time.Time     // when the last one ended
	fault   error         // of the last one
	any     bool          // one has ended well
	found   []query.Trail
	of      int // batches when found was
}

const (
	// copiesEvery is the least time between two looks for new copies, copiesAgain
	// after one that failed, and copiesTime how long one goes on before what it found
	// counts.
	copiesEvery = time.Second
	copiesAgain = 10 * time.Second
	copiesTime  = 30 * time.Second
	// copiesClocks is how far the clocks of a fleet may differ, before the pages of the
	// trail have the records of two machines in another order than their times.
	copiesClocks = time.Hour
)

func newTrails(o Options) *trails {
	return &trails{own: site{dir: o.Trails}, copies: o.Copies, lacks: o.CopiesLack}
}

// here is where the trails of all pages lie now. Where the copies of a fleet cannot be
// read, the trails of this machine are shown instead, and the pages say so.
func (t *trails) here() site {
	if t.copies == nil {
		return t.own
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if errors.Is(t.fault, natsx.ErrForbidden) && !t.any {
		return t.own
	}
	return site{in: audit.Files{In: t.copies}, dir: ".", fleet: true}
}

// refresh takes in what is new in the copies, beside the answer, and waits a moment for it.
func (t *trails) refresh(ctx context.Context, work *sync.WaitGroup) {
	if t.copies == nil || ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	every := copiesEvery
	if t.fault != nil {
		every = copiesAgain
	}
	if t.running == nil && (t.done.IsZero() || time.Since(t.done) > every) {
		t.running = make(chan struct{})
		work.Go(func() { t.take(ctx) })
	}
	running := t.running
	t.mu.Unlock()
	if running == nil {
		return
	}
	wait := time.NewTimer(moment)
	defer wait.Stop()
	select {
	case <-running:
	case <-wait.C:
	case <-ctx.Done():
	}
}

// refreshNow takes in what is new before it returns, for what goes on beside answers.
func (t *trails) refreshNow(ctx context.Context) {
	var work sync.WaitGroup
	t.refresh(ctx, &work)
	work.Wait()
}

// take refreshes once. A long listing goes on as long as it gets on.
func (t *trails) take(ctx context.Context) {
	var err error
	for {
		before, _ := t.copies.Listed()
		within, cancel := context.WithTimeout(ctx, copiesTime)
		err = t.copies.RefreshWithin(within)
		late := within.Err() != nil
		cancel()
		if after, _ := t.copies.Listed(); err == nil || ctx.Err() != nil || !late || after == before {
			break
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fault, t.done, t.any = err, time.Now(), t.any || err == nil
	close(t.running)
	t.running = nil
}

// find returns the trails of one machine, or of all if machine is "".
func (t *trails) find(machine string) ([]query.Trail, error) {
	all, err := t.all()
	if machine == "" || err != nil {
		return all, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(o query.Trail) bool { return machineOf(&o) != machine }), nil
}

func (t *trails) all() ([]query.Trail, error) {
	at := t.here()
	if !at.fleet {
		found, err := query.Find(at.dir)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // no server has begun a trail
		}
		return found, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	batches, _ := t.copies.Listed()
	if t.found != nil && t.of == batches {
		return t.found, nil
	}
	found, err := query.FindIn(at.in, at.dir)
	if err != nil {
		return nil, err
	}
	for i := range found {
		one := &found[i]
		if latest := t.copies.Latest(machineOf(one), one.Name()); !latest.IsZero() {
			one.Before = latest.Add(copiesClocks)
		}
		if began, err := time.Parse("20060102T150405Z", strings.SplitN(one.Name(), "-", 2)[0]); err == nil {
			one.Began = began.Add(-time.Minute)
		}
	}
	slices.SortFunc(found, func(a, b query.Trail) int {
		return cmp.Or(strings.Compare(a.Name(), b.Name()), strings.Compare(a.Path, b.Path))
	})
	t.found, t.of = found, batches
	return found, nil
}

// machineOf names the machine whose trail a copy is; "" for a trail of this machine.
func machineOf(t *query.Trail) string {
	if dir, _ := path.Split(t.Path); dir != "" && !strings.HasPrefix(dir, "/") && strings.Count(t.Path, "/") == 1 {
		return strings.TrimSuffix(dir, "/")
	}
	return ""
}

// keyOf is the name of a trail in addresses of the console.
func keyOf(t *query.Trail) string {
	if machine := machineOf(t); machine != "" {
		return machine + "/" + t.Name()
	}
	return t.Name()
}

// one finds a trail by its key. No path is made of what a browser sends.
func (t *trails) one(key string) (*query.Trail, site, error) {
	var (
		at  = t.here()
		all []query.Trail
		err error
	)
	if at.fleet && !strings.Contains(key, "/") {
		at = t.own // a record of this machine, where its copies are shown
		all, err = query.Find(at.dir)
	} else {
		all, err = t.all()
	}
	if err == nil {
		for i := range all {
			if keyOf(&all[i]) == key {
				return &all[i], at, nil
			}
		}
	}
	return nil, at, &problem{Status: http.StatusNotFound, Title: "There is no such trail", Text: "It may have been removed, or the address is mistyped."}
}

// sourceView says on a page where what it shows comes from.
type sourceView struct {
	Fleet    bool // copies of a fleet's trails
	Machines []string
	Trails   int
	Batches  int
	Listing  bool      // not everything is known yet
	Left     int       // trails that are left out,
	LeftTo   time.Time // and when the last of them was added to
	Fault    string    // why nothing new is known
	Lacks    string    // what it would take to show the fleet's: these are of this machine
}

// mostFaultText bounds what a page says of a fault of the engine.
const mostFaultText = 400

func (t *trails) view() sourceView {
	if t.copies == nil {
		return sourceView{Lacks: t.lacks}
	}
	at := t.here()
	t.mu.Lock()
	fault, listing := t.fault, t.running != nil && !t.any
	t.mu.Unlock()
	if !at.fleet {
		return sourceView{Lacks: "The key does not permit it. " + HowToRead}
	}
	v := sourceView{Fleet: true, Machines: t.copies.Names(), Listing: listing}
	v.Batches, v.Trails = t.copies.Listed()
	v.Left, v.LeftTo = t.copies.Left()
	if fault != nil {
		v.Fault = fault.Error()
		v.Fault = v.Fault[:min(len(v.Fault), mostFaultText)]
	}
	return v
}

// HowToRead says what it takes to read the copies of a fleet.
const HowToRead = "Copies are read with an auditor's key: name its file in TIPSTAFF_ENGINE_AUDITOR, and its name in TIPSTAFF_AUDITOR_NAME (docs/console.md, All machines of a fleet)."

// unreadable turns a fault of the engine into what a person is told.
func (t *trails) unreadable(err error) error {
	if t.copies != nil && err != nil && (errors.Is(err, natsx.ErrUnavailable) || errors.Is(err, natsx.ErrUnanswered) || errors.Is(err, natsx.ErrNoStream) || errors.Is(err, natsx.ErrNoCopy) || errors.Is(err, natsx.ErrForbidden)) {
		return &problem{Status: http.StatusServiceUnavailable, Title: "The copies of the fleet's trails cannot be read now", Text: err.Error()}
	}
	return err
}
