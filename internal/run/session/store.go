package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"tipstaff"
)

// Recorder records the beginning and the end of sessions.
type Recorder interface {
	// SessionCreated records a session before it can be used. After an error
	// the session is not created.
	SessionCreated(s tipstaff.Session) error
	// SessionClosed records the end of a session and the reason.
	SessionClosed(s tipstaff.Session, reason string)
}

// Options set the bounds of a store.
type Options struct {
	Max      int           // sessions at once; 0 means none
	OwnMax   int           // of one principal; 0 means none
	Idle     time.Duration // how long a session lives without use
	Recorder Recorder
	// NewTail makes the last part of a handle, which cannot be guessed; nil: one that
	// means nothing.
	NewTail func() string
}

// Store holds the open sessions. Its methods may be called from several
// goroutines at once. A session that does not exist, has ended, or belongs to
// another principal gives the same error, SESSION_NOT_FOUND, so that handles
// cannot be probed.
type Store struct {
	opts Options

	mu       sync.Mutex
	sessions map[tipstaff.SessionID]*entry
	own      map[string]int // how many of them each principal has; without an entry, none
}

// NewStore returns an empty store.
func NewStore(o Options) *Store {
	return &Store{opts: o, sessions: map[tipstaff.SessionID]*entry{}, own: map[string]int{}}
}

// Create makes a session with the owner, directory and variables of s. It sets
// the id, the time of creation and the state idle.
func (st *Store) Create(s tipstaff.Session) (tipstaff.Session, error) {
	s.Created = time.Now().UTC()
	s.ID = newID(s.Origin.Task, s.Created, st.opts.NewTail)
	s.State = tipstaff.SessionIdle

	e := newEntry(s, st.opts.Idle)
	if err := st.add(e); err != nil {
		return tipstaff.Session{}, err
	}
	if err := st.opts.Recorder.SessionCreated(s); err != nil {
		st.remove(e)
		return tipstaff.Session{}, err
	}
	st.watch(e)
	return s, nil
}

// add stores e if the limits of all sessions and of its principal allow it.
func (st *Store) add(e *entry) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if n := st.own[e.principal]; n >= st.opts.OwnMax && st.opts.OwnMax < st.opts.Max {
		return tooManyOwn(n, st.opts.OwnMax)
	}
	if n := len(st.sessions); n >= st.opts.Max {
		return tooMany(n, st.opts.Max)
	}
	st.sessions[e.id] = e
	st.own[e.principal]++
	return nil
}

// Info returns the present state of a session.
func (st *Store) Info(principal string, id tipstaff.SessionID) (tipstaff.Session, error) {
	e, err := st.find(principal, id)
	if err != nil {
		return tipstaff.Session{}, err
	}
	e.touch()
	return e.snapshot(), nil
}

// Close ends a session: it ends the running command and refuses waiting ones.
// It returns when nothing of the session is left.
func (st *Store) Close(principal string, id tipstaff.SessionID) error {
	e, err := st.find(principal, id)
	if err != nil {
		return err
	}
	if !st.end(e, errClosed) {
		return tipstaff.NoSession(string(id))
	}
	return nil
}

// CloseAll ends all sessions at once, and returns when all have ended.
func (st *Store) CloseAll(reason string) {
	st.mu.Lock()
	all := make([]*entry, 0, len(st.sessions))
	for _, e := range st.sessions {
		all = append(all, e)
	}
	st.mu.Unlock()
	var ending sync.WaitGroup
	for _, e := range all {
		ending.Go(func() { st.end(e, errors.New(reason)) })
	}
	ending.Wait()
}

var (
	errClosed = errors.New("closed")
	errIdle   = errors.New("idle")
)

// end closes e once; false if it was closed before.
func (st *Store) end(e *entry, reason error) bool {
	if !st.remove(e) {
		return false
	}
	e.close(reason)
	st.opts.Recorder.SessionClosed(e.snapshot(), reason.Error())
	return true
}

func (st *Store) remove(e *entry) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.sessions[e.id] != e {
		return false
	}
	delete(st.sessions, e.id)
	if st.own[e.principal]--; st.own[e.principal] == 0 {
		delete(st.own, e.principal)
	}
	return true
}

func (st *Store) find(principal string, id tipstaff.SessionID) (*entry, error) {
	st.mu.Lock()
	e := st.sessions[id]
	st.mu.Unlock()
	if e == nil || e.principal != principal {
		return nil, tipstaff.NoSession(string(id))
	}
	return e, nil
}

// watch ends e when it has been idle for the idle time.
func (st *Store) watch(e *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx.Err() == nil {
		e.expiry = time.AfterFunc(e.idle, func() { st.end(e, errIdle) })
	}
}

// newID makes a handle that cannot be guessed: rand.Text holds 128 random bits, and
// so has what another tail returns.
func newID(task string, at time.Time, tail func() string) tipstaff.SessionID {
	if tail == nil {
		tail = rand.Text
	}
	return tipstaff.SessionID("term-" + task + "-" + strconv.FormatInt(at.UnixMilli(), 10) + "-" + tail())
}

func tooMany(n, limit int) error {
	return &tipstaff.Error{
		Code: tipstaff.MaxSessionsExceeded, Rule: "sessions",
		Msg:     fmt.Sprintf("There are %d sessions, and no more than %d may live at once", n, limit),
		Hint:    "Close sessions that are done with terminal_close_session, or wait until idle ones expire.",
		Details: map[string]any{"sessions": n, "maxSessions": limit},
	}
}

// tooManyOwn is the error for a principal with too many sessions. It does not
// tell how many other principals have.
func tooManyOwn(n, limit int) error {
	return &tipstaff.Error{
		Code: tipstaff.MaxSessionsExceeded, Rule: "own sessions",
		Msg:     fmt.Sprintf("You have %d sessions, and no caller may have more than %d at once", n, limit),
		Hint:    "Close sessions that are done with terminal_close_session and try again, or wait until idle ones expire.",
		Details: map[string]any{"sessions": n, "maxSessions": limit},
	}
}

// Run carries out one command of a session: it gets the session's present
// state, calls started once when a process has been started, and returns how it
// ended.
type Run func(ctx context.Context, s tipstaff.Session, started func()) (tipstaff.Result, error)

// ErrWentOn is returned by a [Run] whose command goes on in the background. The
// command has joined the session, and says there how it ends.
var ErrWentOn = errors.New("the command goes on in the background")

// Execute runs a command of the session when its turn comes. ctx ends with the
// caller and, while the command runs, also with the session. queued is called
// once, as soon as the command has its place in the order or has failed to get
// one.
func (st *Store) Execute(ctx context.Context, principal string, id tipstaff.SessionID, queued func(), run Run) (tipstaff.Result, error) {
	e, err := st.find(principal, id)
	if err != nil {
		queued()
		return tipstaff.Result{}, err
	}
	if err := e.enter(ctx, queued); err != nil {
		return tipstaff.Result{}, err
	}
	defer e.leave()
	ctx, stop := e.bound(ctx)
	defer stop()
	var once sync.Once
	ran := false
	r, err := run(ctx, e.snapshot(), func() { once.Do(func() { ran = true; e.started() }) })
	if ran && !errors.Is(err, ErrWentOn) {
		e.finished(r)
	}
	return r, err
}
