package job

import (
	"context"
	"syscall"
	"time"

	"tipstaff"
	"tipstaff/internal/run"
)

// Note notes a command that a call waits for, so that its owner can read its output
// and see it in a session, and people can end it. The road is taken with the context
// and the [run.Live] that it returns, and what the road returns is given to ended,
// which says what the call is told.
func (st *Store) Note(ctx context.Context, c Command) (noted context.Context, live run.Live, ended func(tipstaff.Result, error) (tipstaff.Result, error)) {
	j := &Job{
		store: st, owner: c.Owner, session: c.Session, line: shortLine(c.Line), origin: c.Origin, tool: c.Tool,
		begun: time.Now(), done: make(chan struct{}),
	}
	noted, j.cancel = context.WithCancelCause(ctx)
	live = c.Live
	live.Named = func(id tipstaff.RequestID) {
		st.name(j, id)
		c.Live.Name(id)
	}
	live.Controls = func(controls run.Controls) {
		j.steered(controls)
		if c.Live.Controls != nil {
			c.Live.Controls(controls)
		}
	}
	ended = func(r tipstaff.Result, err error) (tipstaff.Result, error) {
		r, err = j.seen(r, err)
		j.mu.Lock()
		j.result, j.err, j.over, j.controls = r, err, time.Now(), nil
		j.shrink()
		j.mu.Unlock()
		if j.id != "" {
			st.over(j, err == nil)
		}
		j.cancel(nil)
		close(j.done)
		return r, err
	}
	return noted, live, ended
}

// steered connects the job to what can be done with its command from now on.
func (j *Job) steered(c run.Controls) {
	j.mu.Lock()
	j.controls, j.ran = c, time.Now()
	late := j.person
	j.mu.Unlock()
	if late { // it was stopped while it was being started
		_ = c.Signal(syscall.SIGTERM)
	}
}
