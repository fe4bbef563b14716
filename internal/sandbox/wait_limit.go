//go:build linux

package sandbox

import (
	"errors"
	"time"
)

// waitLimit is how long a call waits for what is made in the background.
type waitLimit struct {
	patience time.Duration   // 0: without limit
	done     <-chan struct{} // closed when its caller needs it no more; nil: never
}

func (c Command) waitLimit() waitLimit { return waitLimit{c.Patience, c.Done} }

// errCallerGone: the caller of a command needs it no more.
var errCallerGone = errors.New("the call was over before its sandbox was there")

// await waits until done is closed. It returns an error when the time is up, or
// when the caller has gone; the work that closes done continues.
func (w waitLimit) await(done <-chan struct{}) error {
	var late <-chan time.Time
	if w.patience > 0 {
		limit := time.NewTimer(w.patience)
		defer limit.Stop()
		late = limit.C
	}
	select {
	case <-done:
		return nil
	case <-w.done:
		return errCallerGone
	case <-late:
		return stillSearching(w.patience)
	}
}
