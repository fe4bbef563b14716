package httpserver

import (
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// rateLimit limits how often each principal, or another named party, may ask.
type rateLimit struct {
	each  int // a second
	burst int // at once
	most  int // names that are remembered; the rest share one limit. 0: any number

	mu      sync.Mutex
	by      map[string]*rate.Limiter
	cleaned time.Time
}

func newRateLimit(each int) *rateLimit {
	return &rateLimit{each: each, burst: each, by: map[string]*rate.Limiter{}, cleaned: time.Now()}
}

// forgetful is the minimum time for which a principal is remembered. After a
// second of silence a principal has its whole allowance back, so forgetting it
// loses nothing.
const forgetful = time.Minute

// wait returns how long a principal has to wait with its request; 0: it may
// ask.
func (p *rateLimit) wait(principal string) time.Duration {
	now := time.Now()
	l := p.limiter(principal, now)
	r := l.ReserveN(now, 1)
	if !r.OK() {
		return time.Second
	}
	d := r.DelayFrom(now)
	if d > 0 {
		r.CancelAt(now)
	}
	return d
}

func (p *rateLimit) limiter(principal string, now time.Time) *rate.Limiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.cleaned) > forgetful || p.full() && now.Sub(p.cleaned) > time.Second {
		for name, l := range p.by {
			if l.TokensAt(now) >= float64(p.burst) {
				delete(p.by, name)
			}
		}
		p.cleaned = now
	}
	l := p.by[principal]
	if l == nil && p.full() {
		principal, l = "", p.by[""]
	}
	if l == nil {
		l = rate.NewLimiter(rate.Limit(p.each), p.burst)
		p.by[principal] = l
	}
	return l
}

// full reports whether no further name can be remembered. The caller holds the
// lock.
func (p *rateLimit) full() bool { return p.most > 0 && len(p.by) >= p.most }

// refusalLog logs refused requests at a limited rate, because anyone who can
// connect can cause such lines.
type refusalLog struct {
	log   *slog.Logger
	often *rate.Limiter

	mu      sync.Mutex
	skipped int
}

const (
	linesEach  = 5 // a second
	linesBurst = 50
)

func newLines(log *slog.Logger) *refusalLog {
	return &refusalLog{log: log, often: rate.NewLimiter(linesEach, linesBurst)}
}

func (l *refusalLog) say(what string, args ...any) {
	l.mu.Lock()
	if !l.often.Allow() {
		l.skipped++
		l.mu.Unlock()
		return
	}
	if l.skipped > 0 {
		args = append(args, "not_told_before", l.skipped)
		l.skipped = 0
	}
	l.mu.Unlock()
	l.log.Warn("refused", append([]any{"what", what}, args...)...)
}
