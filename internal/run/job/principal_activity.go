package job

import "time"

// principalActivity counts the calls of one principal and its commands in the
// background. When there are commands and no call for the idle time, the commands are
// ended. The lock of the store guards it.
type principalActivity struct {
	calls, commands int
	idle            *time.Timer // nil: no idle time has begun
}

// countActivity counts calls and commands of an owner. The commands of a connection end
// with it, and with nothing before. The caller holds the lock.
func (st *Store) countActivity(o Owner, calls, commands int) {
	if o.Connection != "" || st.opts.Idle <= 0 {
		return
	}
	p := st.callers[o.Principal]
	if p == nil {
		p = &principalActivity{}
		st.callers[o.Principal] = p
	}
	p.calls += calls
	p.commands += commands
	p.stop()
	switch {
	case p.calls > 0:
	case p.commands == 0:
		delete(st.callers, o.Principal)
	case st.closed == nil:
		p.idle = time.AfterFunc(st.opts.Idle, func() { st.endIdle(o.Principal, p) })
	}
}

func (p *principalActivity) stop() {
	if p.idle != nil {
		p.idle.Stop()
		p.idle = nil
	}
}

// endIdle ends the commands of a principal that has been idle.
func (st *Store) endIdle(principal string, p *principalActivity) {
	st.mu.Lock()
	still := st.callers[principal] == p && p.idle != nil
	st.mu.Unlock()
	if still {
		st.end(func(j *Job) bool { return j.owner == Owner{Principal: principal} }, errIdle)
	}
}

// Call notes that an owner makes a call. The owner calls over once, when the call has
// ended. Until then its principal is not idle.
func (st *Store) Call(o Owner) (over func()) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.countActivity(o, 1, 0)
	return func() {
		st.mu.Lock()
		defer st.mu.Unlock()
		st.countActivity(o, -1, 0)
	}
}
