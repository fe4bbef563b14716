package console

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/audit/query"
)

// proving verifies the trails while a person looks at them, beside the answers
// to requests. It remembers how far it came, and of each trail it vouches for
// nothing but the records that it has read.
type proving struct {
	from *trails

	mu     sync.Mutex
	looked time.Time // the last look of a person
	busy   bool
	fault  string // why the trails cannot be found
	found  int    // number of trails
	of     map[string]*proved
	// checked is when the last whole pass began: all that was there then was read.
	checked time.Time
	first   chan struct{} // closed after the first pass
	// anew is how much of the last pass went into trails that were read from their
	// beginnings. Each is read so once, and then seldom; see proved.old.
	anew time.Duration
}

// proved is what is known of one trail.
type proved struct {
	growing  *audit.IncrementalVerifier // used by the one goroutine that verifies
	progress audit.Progress
	bytes    int64         // size of its records when progress was made
	took     time.Duration // to read it from its beginning
	fault    string
}

// old reports that a trail is to be read from its beginning again.
func (p *proved) old() bool {
	return p.progress.Whole && time.Since(p.progress.Began) > max(readAgain, provingShare*p.took)
}

const (
	// provingEvery is the least time between two passes over all trails, and
	// provingShare how many times as long as a pass the pause after it is.
	provingEvery = 2 * time.Second
	provingShare = 50
	// provingWhile is how long it goes on after a person's last look.
	provingWhile = 2 * time.Minute
	// provingStep is how long one trail is read before what was found is shown.
	provingStep = time.Second
	// readAgain is how old a verification may be that only what was added was
	// read for.
	readAgain = time.Hour
)

func newProving(from *trails) *proving {
	return &proving{from: from, of: map[string]*proved{}, first: make(chan struct{})}
}

// look notes that a person looks, and starts to verify if nothing does. The
// first look waits a moment for what there is to say.
func (p *proving) look(ctx context.Context, work *sync.WaitGroup) {
	p.mu.Lock()
	p.looked = time.Now()
	if !p.busy && ctx.Err() == nil {
		p.busy = true
		work.Go(func() { p.run(ctx) })
	}
	p.mu.Unlock()
	wait := time.NewTimer(moment / 2)
	defer wait.Stop()
	select {
	case <-p.first:
	case <-wait.C:
	case <-ctx.Done():
	}
}

// run verifies until the person has gone or ctx is done.
func (p *proving) run(ctx context.Context) {
	for {
		began := time.Now()
		p.from.refreshNow(ctx)
		p.pass(ctx)
		pause := time.NewTimer(max(provingEvery, provingShare*(time.Since(began)-p.anew)))
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
		p.mu.Lock()
		if ctx.Err() != nil || time.Since(p.looked) > provingWhile {
			p.busy = false
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
	}
}

// pass verifies what was added to each trail.
func (p *proving) pass(ctx context.Context) {
	began := time.Now()
	p.anew = 0
	at := p.from.here()
	trails, err := p.from.find("")
	p.mu.Lock()
	p.fault = ""
	if err != nil {
		p.fault = err.Error()
	}
	p.found = len(trails)
	for path := range p.of {
		if !slices.ContainsFunc(trails, func(t query.Trail) bool { return t.Path == path }) {
			delete(p.of, path) // it was removed, as old trails are
		}
	}
	p.mu.Unlock()
	// The newest first: that is what a person looks at.
	for _, t := range slices.Backward(trails) {
		if ctx.Err() != nil {
			return
		}
		p.one(ctx, at, &t)
	}
	if err == nil && ctx.Err() == nil {
		p.mu.Lock()
		if p.checked.IsZero() {
			close(p.first)
		}
		p.checked = began
		p.mu.Unlock()
	}
}

// one verifies what was added to one trail, step by step.
func (p *proving) one(ctx context.Context, at site, t *query.Trail) {
	p.mu.Lock()
	of := p.of[t.Path]
	if of == nil {
		of = &proved{}
		p.of[t.Path] = of
	}
	now := of.progress
	settled := now.Whole && of.bytes == t.Bytes() && (now.Report.Signed == now.Report.Records || time.Since(now.At) < readAgain/60) && of.fault == ""
	p.mu.Unlock()
	old := of.old()
	if settled && !old {
		return
	}
	if of.growing == nil || old {
		of.growing = at.in.IncrementalVerifier(t.Path, "")
		began := time.Now()
		defer func() {
			of.took = time.Since(began)
			p.anew += of.took
		}()
	}
	for {
		step, cancel := context.WithTimeout(ctx, provingStep)
		progress, err := of.growing.Advance(step)
		cancel()
		p.mu.Lock()
		of.fault = ""
		if err != nil {
			of.fault = err.Error()
		}
		// While a trail is read again, what was found before goes on to count.
		if err == nil && (progress.Whole || !of.progress.Whole) {
			of.progress, of.bytes = progress, t.Bytes()
			if progress.Whole && progress.Report.Closed {
				of.growing = nil // what has ended takes no memory
			}
		}
		p.mu.Unlock()
		if err != nil || progress.Whole || ctx.Err() != nil {
			return
		}
	}
}

// proofView is what the banner says of all trails.
type proofView struct {
	State     string // none, going, good, incomplete, tampered, unknown
	Trails    int
	Done      int    // trails that were read to their end
	Records   uint64 // that are verified
	Signed    uint64 // of those, covered by a checkpoint
	UpTo      time.Time
	Checked   time.Time // all that was there then is verified, unless State or Faults say otherwise
	FromStart time.Time // the trail that was read least recently from its beginning
	Faults    []trailFault
	Fault     string
}

type trailFault struct {
	Trail, Text string
	Tampered    bool
}

// mostFaults is how many trails the banner names.
const mostFaults = 5

// view returns what is known now.
func (p *proving) view() proofView {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := proofView{State: "good", Trails: p.found, Fault: p.fault, Checked: p.checked}
	for path, of := range p.of {
		v.add(path, of)
	}
	slices.SortFunc(v.Faults, func(a, b trailFault) int { return cmp.Compare(b.Trail, a.Trail) })
	tampered := slices.ContainsFunc(v.Faults, func(f trailFault) bool { return f.Tampered })
	v.Faults = v.Faults[:min(len(v.Faults), mostFaults)]
	switch {
	case tampered:
		v.State = "tampered"
	case v.Fault != "":
		v.State = "unknown"
	case p.checked.IsZero() || v.Done < v.Trails:
		v.State = "going"
	case v.Trails == 0:
		v.State = "none"
	case len(v.Faults) > 0:
		v.State = "incomplete"
	}
	return v
}

func (v *proofView) add(path string, of *proved) {
	r := &of.progress.Report
	v.Records += r.Records
	v.Signed += r.Signed
	if r.Last.After(v.UpTo) {
		v.UpTo = r.Last
	}
	if of.progress.Whole {
		v.Done++
		if v.FromStart.IsZero() || of.progress.Began.Before(v.FromStart) {
			v.FromStart = of.progress.Began
		}
	}
	name := keyOf(&query.Trail{Path: path})
	switch {
	case of.fault != "":
		v.Faults = append(v.Faults, trailFault{name, of.fault, false})
	case r.Fault != nil:
		v.Faults = append(v.Faults, trailFault{name, r.Fault.String(), r.Status == audit.Tampered})
	}
}

// reach says how far one trail is verified. Of what a verifier has not read it
// says nothing: records and signed are 0.
func (p *proving) reach(trail string) (records, signed uint64, checked time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.of[trail]
	if of == nil {
		return 0, 0, time.Time{}
	}
	r := &of.progress.Report
	return r.Records, r.Signed, of.progress.At
}
