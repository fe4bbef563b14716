//go:build linux

package sandbox

import (
	"errors"
	"time"
)

// waiting is how long a call waits for what is made in the background.
type waiting struct {
	patience time.Duration   // 0: without limit
	over     <-chan struct{} // closed when its caller needs it no more; nil: never
}

func (c Command) waiting() waiting { return waiting{c.Patience, c.Over} }

// errOver: the caller of a command needs it no more.
var errOver = errors.New("the call was over before its sandbox was there")

// await waits until done is closed.
func (w waiting) await(done <-chan struct{}) error {
	var late <-chan time.Time
	if w.patience > 0 {
		limit := time.NewTimer(w.patience)
		defer limit.Stop()
		late = limit.C
	}
	select {
	case <-done:
		return nil
	case <-w.over:
		return errOver
	case <-late:
		return stillSearching(w.patience)
	}
}
