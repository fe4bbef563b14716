//go:build linux && (amd64 || arm64)

package proc

import (
	"testing"
	"time"
)

// lastEnded says when the last command in an enclosure ended.
func lastEnded(n *Enclosure, at time.Time) {
	n.pace.mu.Lock()
	defer n.pace.mu.Unlock()
	n.pace.ended = at
}

// TestAChildIsPreparedWhereThereIsTime: for a command that is confined in any
// case, else if the one before had ended some time before, and none runs.
func TestAChildIsPreparedWhereThereIsTime(t *testing.T) {
	long, now := time.Time{}, time.Now().Add(time.Hour) // none comes later than that
	for name, e := range preparing(t) {
		t.Run(name, func(t *testing.T) {
			in, confined := enclosureOf(t, e), confinementOf(e) != nil
			follow := func(ended time.Time) *Process {
				lastEnded(in, ended)
				p, _ := spawn(t, e, "true")
				return p
			}
			over := func(p *Process) (prepared bool) {
				p.Status()
				p.End(0)
				return p.place.zygote.next.Load() != nil
			}
			if !over(follow(long)) {
				t.Error("nothing is prepared although there is time")
			}
			if got := over(follow(now)); got != confined {
				t.Errorf("one right after another: prepared is %t", got)
			}
			first, second := follow(long), follow(long)
			if got := over(first); got != confined {
				t.Errorf("while another one runs: prepared is %t", got)
			}
			if !over(second) {
				t.Error("nothing is prepared after the last one of several")
			}
		})
	}
}
