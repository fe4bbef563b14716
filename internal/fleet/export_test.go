package fleet

import (
	"context"
	"errors"
	"time"

	"tipstaff/internal/fleet/natsx"
)

// Take hands the list a change, as the watch does.
func (l *List) Take(c natsx.LeaseChange) { l.take(c) }

// SetEvery sets how often the list sends pulses.
func (l *List) SetEvery(d time.Duration) { l.every = d }

// PulsesOfALease is how many pulses a lease outlasts.
const PulsesOfALease = pulsesOfALease

// Remembered is how many runners that are gone a list knows.
const Remembered = maxLost

// ClaimUnanswered is a claim while all others were cut off.
func (r *Runner) ClaimUnanswered(ctx context.Context) error {
	r.mu.Lock()
	r.claimed = true
	r.mu.Unlock()
	_, err := r.conn.Subscribe(natsx.Namesakes(r.addr.Name), r.receiveName)
	return errors.Join(err, r.conn.Flush(ctx))
}

// Missing is how many pulses have not come back.
func (l *List) Missing() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.missing
}

// Conn gives it another connection.
func (f *Freezes) Conn(c *natsx.Conn) { f.opt.Conn = c }
