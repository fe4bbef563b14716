package run

import (
	"context"

	"golang.org/x/sync/semaphore"

	"tipstaff"
	"tipstaff/internal/policy"
)

// WithSlots limits how many commands run at once. Others wait, and start in the order
// in which they came. The timeout of a command begins when it starts. A script takes
// one slot and its commands none, because those of a pipeline wait for each other. A
// command in the background takes none either, because it could keep one for a day;
// internal/run/job limits these. Run may be called concurrently.
type WithSlots struct {
	next  Runner
	slots *semaphore.Weighted // first come, first served
}

// NewWithSlots wraps next. slots is at least 1.
func NewWithSlots(next Runner, slots int) *WithSlots {
	return &WithSlots{next: next, slots: semaphore.NewWeighted(int64(slots))}
}

// Run waits for a slot and carries out g. A call that is cancelled while it
// waits starts nothing.
func (w *WithSlots) Run(ctx context.Context, g *policy.Grant, live Live) (tipstaff.Result, error) {
	if live.Streams != nil || live.WentOn != nil { // it belongs to a script, or is one of internal/run/job
		return w.next.Run(ctx, g, live)
	}
	if err := w.slots.Acquire(ctx, 1); err != nil {
		return tipstaff.Result{}, cancelledBeforeStart(ctx)
	}
	defer w.slots.Release(1)
	return w.next.Run(ctx, g, live)
}
