package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/policy/freeze"
)

// FreezesOptions say what a gateway or a runner needs to know whom operators have
// frozen.
type FreezesOptions struct {
	Conn      *natsx.Conn
	Operators natsx.Operators // whose words count
	// Record writes a word down before it comes into force. After an error a freeze
	// that is to be lifted stays; it is tried again with the next reading.
	Record func(FreezeOrder) error
	// Ended is told of freezes that were read, so that what runs is ended.
	Ended func(FreezeOrder)
	Log   *slog.Logger

	Every time.Duration // 0: readEvery
}

// readEvery is how often the bucket is read, more or less a fifth. Who freezes also
// tells each member directly; reading is for those who could not be told.
const readEvery = 3 * time.Second

// readTime bounds one reading.
const readTime = 5 * time.Second

// Freezes is what a gateway or a runner knows of who is frozen in the fleet. What it
// has read or was told holds until an operator's own word lifts it: also while the
// engine is away, and if the bucket is emptied. Until it has read the bucket once, it
// cannot tell who is frozen. Its methods may run at once; a nil Freezes freezes nobody.
type Freezes struct {
	opt   FreezesOptions
	began time.Time

	changing sync.Mutex        // one change at a time
	seen     map[string]uint64 // the write of each key that was looked at
	why      string            // the last reading failed, as it was logged

	mu     sync.Mutex
	orders map[freeze.Target]FreezeOrder
	now    []freeze.Entry // of words, for each command that asks; replaced, never changed
	fault  error          // why it cannot be told who is frozen; nil: it was read once
}

// NewFreezes makes one that knows nothing yet.
func NewFreezes(o FreezesOptions) *Freezes {
	if o.Every == 0 {
		o.Every = readEvery
	}
	return &Freezes{
		opt: o, began: time.Now(), seen: map[string]uint64{}, orders: map[freeze.Target]FreezeOrder{},
		fault: errors.New("it was not read from the engine yet who is frozen in the fleet"),
	}
}

// Watch reads the bucket again and again until ctx is done.
func (f *Freezes) Watch(ctx context.Context) {
	for ctx.Err() == nil {
		changed := f.opt.Conn.Changed()
		if err := f.Read(ctx); ctx.Err() == nil {
			f.tell(err)
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(f.opt.Every*9/10 + rand.N(f.opt.Every/5+1)): //nolint:gosec // jitter is no secret
		}
	}
}

// tell logs why the bucket cannot be read, once.
func (f *Freezes) tell(err error) {
	why := ""
	if err != nil {
		why = err.Error()
	}
	f.mu.Lock()
	before := f.why
	f.why = why
	if f.fault != nil && err != nil {
		f.fault = fmt.Errorf("it was not read from the engine yet who is frozen in the fleet: %w", err)
	}
	refuses := f.fault != nil
	f.mu.Unlock()
	switch {
	case why == before:
	case why == "":
		f.opt.Log.Info("who is frozen in the fleet can be read again")
	case refuses:
		f.opt.Log.Warn("it cannot be read who is frozen in the fleet; until it was read once, every command is refused", "why", why)
	default:
		f.opt.Log.Warn("it cannot be read who is frozen in the fleet; what was read last holds", "why", why)
	}
}

// Read reads the bucket once.
func (f *Freezes) Read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	if err := f.opt.Conn.State(); err != nil {
		return err
	}
	all, err := f.opt.Conn.Frozen(ctx)
	if err != nil {
		return err
	}
	f.changing.Lock()
	defer f.changing.Unlock()
	f.mu.Lock()
	first := f.fault != nil
	f.mu.Unlock()
	for _, k := range all {
		if f.seen[k.Key] == k.Sequence {
			continue
		}
		w, err := ReadFreezeOrder(f.opt.Operators, k.Data)
		if err == nil && FrozenKey(w.Target) != k.Key {
			err = errors.New("it stands under the key of another target")
		}
		if err != nil {
			f.seen[k.Key] = k.Sequence
			f.opt.Log.Warn("an entry of the bucket of freezes does not count", "key", k.Key, "why", err.Error())
			continue
		}
		news, err := f.take(w, first && w.At.Before(f.began))
		if err != nil {
			f.opt.Log.Error("a freeze cannot be lifted here; it is tried again", "of", w.Target.String(), "error", err)
			continue
		}
		f.seen[k.Key] = k.Sequence
		if news && !w.Lifted && f.opt.Ended != nil {
			f.opt.Ended(w)
		}
	}
	f.mu.Lock()
	f.fault = nil
	f.mu.Unlock()
	return nil
}

// Take takes a word as an operator has signed it, and reports whether it says what
// was not known. What runs is the caller's to end.
func (f *Freezes) Take(data []byte) (w FreezeOrder, news bool, err error) {
	if f == nil {
		return FreezeOrder{}, false, errors.New("no operator is known here (TIPSTAFF_ENGINE_OPERATORS)")
	}
	if w, err = ReadFreezeOrder(f.opt.Operators, data); err != nil {
		return FreezeOrder{}, false, err
	}
	f.changing.Lock()
	defer f.changing.Unlock()
	news, err = f.take(w, false)
	return w, news, err
}

// take keeps the later one of two words about a target. The caller holds changing.
func (f *Freezes) take(w FreezeOrder, old bool) (news bool, err error) {
	f.mu.Lock()
	before, known := f.orders[w.Target]
	f.mu.Unlock()
	switch {
	case known && !w.At.After(before.At):
		return false, nil
	case w.Lifted && (!known || before.Lifted), old, known && !w.Lifted && !before.Lifted:
		// Nothing changes by it, or it was so before this process began.
		news = false
	default:
		news = true
		if f.opt.Record != nil {
			said := w
			if w.Lifted {
				said.Why = before.Why
			}
			if err := f.opt.Record(said); err != nil && w.Lifted {
				return false, err
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.orders[w.Target] = w
	f.now = frozenOf(f.orders)
	return news, nil
}

// Entries returns who is frozen now, the oldest first; it is not to be changed. After an
// error nothing may run.
func (f *Freezes) Entries() ([]freeze.Entry, error) {
	if f == nil {
		return nil, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault != nil {
		return nil, f.fault
	}
	return f.now, nil
}

// frozenOf are the words that are no lifts, the oldest first.
func frozenOf(words map[freeze.Target]FreezeOrder) []freeze.Entry {
	var all []freeze.Entry
	for _, w := range words {
		if !w.Lifted {
			all = append(all, w.Entry)
		}
	}
	slices.SortFunc(all, func(a, b freeze.Entry) int { return a.At.Compare(b.At) })
	return all
}
