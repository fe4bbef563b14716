package replicate

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pauses between attempts, as those of package sink.
const (
	firstPause   = 200 * time.Millisecond
	longestPause = 30 * time.Second
	// shortestPause is between attempts that a command waits for.
	shortestPause = 100 * time.Millisecond
	// attempt bounds one exchange with the engine.
	attempt = 5 * time.Second
	// logEvery is how often failures are logged.
	logEvery = time.Minute
)

// pauseAfter returns how long to wait after so many failures in a row: longer
// each time, and randomized, so that many processes do not come back at once.
func pauseAfter(failures int) time.Duration {
	d := min(longestPause, firstPause<<min(failures-1, 10))
	return d/2 + rand.N(d/2+1) //nolint:gosec // a predictable pause is no risk
}

// wait returns after d, or when wake or ctx says so.
func wait(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
}
