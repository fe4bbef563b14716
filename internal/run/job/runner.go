package job

import (
	"context"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/run"
)

// Bounded is a [run.Runner] that holds commands in the background to the bound
// of the policy file for their callers.
type Bounded struct {
	Store *Store
	Next  run.Runner
}

// Run carries out g, unless the caller has as many commands in the background as
// the policy allows.
func (b Bounded) Run(ctx context.Context, g *policy.Grant, live run.Live) (tipstaff.Result, error) {
	req := g.Request()
	if most := g.Bounds().Background; req.Background && req.Parent == "" && most > 0 {
		if n := b.Store.others(req.ID); n >= most {
			return tipstaff.Result{}, tooMany(n, most, "of yours")
		}
	}
	return b.Next.Run(ctx, g, live)
}

// others counts the commands in the background that came before one of the same
// owner.
func (st *Store) others(id tipstaff.RequestID) (n int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	j := st.jobs[id]
	if j == nil {
		return 0
	}
	for other := range st.running {
		if other.background && other.owner == j.owner && other.serial < j.serial {
			n++
		}
	}
	return n
}
