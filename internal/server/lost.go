package server

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tipstaff"
	"tipstaff/internal/audit"
	"tipstaff/internal/audit/query"
)

// predecessors is how many trails of servers that did not stop are looked at: more
// than one only if a server died while it looked.
const predecessors = 3

// noteLost records how the commands ended that a dead server of this state directory
// had started: that this is not known. The engine has ended what was left of them
// when it was made.
func (st *Stack) noteLost(ctx context.Context) {
	lost, err := st.unended(ctx)
	if err != nil {
		st.Log.Error("cannot read which commands a dead server had started", "dir", st.settings.AuditDir(), "error", err)
	}
	for _, start := range lost {
		r := audit.Record{Event: audit.CommandLost, Who: start.Who, Trace: start.Trace, What: start.What, Decision: start.Decision}
		r.Code, r.Why = tipstaff.OutcomeUnknown, "The server that had started this command is gone; how the command ended is not known."
		if err := st.Monitor.Trail.Append(r); err != nil {
			st.Log.Error("cannot write the audit trail", "event", string(r.Event), "command_id", string(r.Trace.CommandID), "error", err)
			return
		}
	}
	if len(lost) > 0 {
		st.Log.Warn("a server that is gone had started commands whose ends are not known", "commands", len(lost))
	}
}

// unended are the starts without an end on the trails of dead servers, back to the
// last one that stopped as it should.
func (st *Stack) unended(ctx context.Context) ([]audit.Record, error) {
	all, err := query.Find(st.settings.AuditDir())
	if err != nil {
		return nil, err
	}
	var dead []query.Trail
	for _, t := range slices.Backward(all) {
		if strings.HasPrefix(st.trail.Path(), t.Path) || audit.IsDaily(t.Path) || serverLives(t.PID()) {
			continue // of a day: hooks start no commands
		}
		if stopped, err := query.Stopped(ctx, t); err != nil || stopped || len(dead) == predecessors {
			break
		}
		dead = append(dead, t)
	}
	slices.Reverse(dead)
	return query.Unended(ctx, dead)
}

// serverLives reports whether a process is a server of this program other than this
// one. In a container the number of a dead one is often this one's own.
func serverLives(pid int) bool {
	if pid == 0 || pid == os.Getpid() {
		return false
	}
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return true // nothing is known here, and nothing is claimed
	}
	other, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
	return err == nil && filepath.Base(strings.TrimSuffix(other, " (deleted)")) == filepath.Base(strings.TrimSuffix(own, " (deleted)"))
}
