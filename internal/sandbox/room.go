//go:build linux

package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tipstaff"
	"tipstaff/internal/profile"
)

// roomKey says who shares a room: the calls of a session, or those of a principal
// without one, with the same workspace and under the same terms.
type roomKey struct {
	principal string
	session   tipstaff.SessionID
	workspace string // its directories, each ended by a NUL
	terms     string // see Terms.key
}

// room is what commands share that may know of each other: a temporary
// directory, and the view, network and ruleset that were made for a workspace.
type room struct {
	sandbox   *Sandbox
	key       roomKey
	workspace []string
	held      *held
	doors     *doors // nil if commands have none
	dir       string // in the scratch directory

	making sync.Once
	made   chan struct{} // closed when err is settled
	err    error
	token  string // for the proxy

	mu      sync.Mutex
	walls   *walls // as they stand now; nil when they could not be made
	users   int
	doomed  bool // nobody enters any more; the last one who leaves closes it
	gone    bool
	used    time.Time
	looking bool
	again   bool // a command has left while somebody looked
	waiting bool // until the next look is due
	looked  time.Time
	cost    time.Duration   // of the last look
	news    uint64          // what the guard had been told of new repositories by the last look
	refused []refusal       // by the proxy, since the last command ended
	told    map[string]bool // copies that differ, and were told of
	control uint64          // of what was allowed when the walls were made: see AllowControl
	unsafe  []string        // renames that the guard refused, since the last command ended

	lookMu sync.Mutex // held by whoever looks, but for the first time
}

// errClosed: the server is ending.
var errClosed = errors.New("the sandbox is closed")

// enter finds or makes the room of a command.
func (s *Sandbox) enter(c Command) (*room, *walls, error) {
	workspace := s.workspaceOf(c)
	h, err := s.tightened(c.Terms)
	if err != nil {
		return nil, nil, err
	}
	key := roomKey{c.Principal, c.Session, strings.Join(workspace, "\x00"), c.Terms.key()}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, nil, errClosed
	}
	r := s.rooms[key]
	if r == nil {
		s.count++
		r = &room{sandbox: s, key: key, workspace: workspace, held: h, made: make(chan struct{}), dir: filepath.Join(s.scratch.dir, strconv.Itoa(s.count))}
		if h.doors {
			r.doors = newDoors()
		}
		s.rooms[key] = r
		r.users = 1 // before one is chosen that goes
		s.evict()
	} else {
		r.mu.Lock()
		r.users++
		r.mu.Unlock()
	}
	s.mu.Unlock()

	if !r.await(c.Patience) {
		r.leave(nil)
		return nil, nil, stillLooking(c.Patience)
	}
	if r.err != nil {
		s.forget(r)
		r.leave(nil)
		return nil, nil, r.err
	}
	if err := r.refresh(); err != nil {
		r.leave(nil)
		return nil, nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.walls.users++
	return r, r.walls, nil
}

// workspaceOf is what a command may change.
func (s *Sandbox) workspaceOf(c Command) []string {
	if len(c.Workspace) > 0 {
		return c.Workspace
	}
	dir := c.Dir
	if len(s.o.Workspace) > 0 {
		return s.o.Workspace
	}
	if within(dir, s.o.Directory) || s.personal(dir) || s.holdsOwn(dir) {
		return []string{s.o.Directory}
	}
	return []string{s.o.Directory, dir}
}

// personal reports whether a directory is the home, is around it, or lies in one
// of the home's directories of settings. Who may write there decides what the
// user's shell does next; that is not for a caller to open by naming it.
func (s *Sandbox) personal(dir string) bool {
	home, err := filepath.EvalSymlinks(s.o.Machine.Home)
	if err != nil || s.o.Machine.Home == "" {
		return false
	}
	return within(home, dir) || within(dir, home) && strings.HasPrefix(strings.TrimPrefix(dir, home+"/"), ".")
}

// keptRooms is how many rooms are kept that nobody is in, beside those of
// sessions, which end with them.
const keptRooms = 32

// evict dooms the rooms that were used longest ago if there are too many. The
// caller holds s.mu.
func (s *Sandbox) evict() {
	var idle []*room
	for _, r := range s.rooms {
		if r.key.session == "" && r.idle() {
			idle = append(idle, r)
		}
	}
	for len(idle) > keptRooms {
		oldest := slices.MinFunc(idle, func(a, b *room) int { return a.used.Compare(b.used) })
		delete(s.rooms, oldest.key)
		s.inBackground(oldest.doom)
		idle = slices.DeleteFunc(idle, func(r *room) bool { return r == oldest })
	}
}

// idle reports whether no command is in the room; somebody may be looking.
func (r *room) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.users == 0 || r.users == 1 && r.looking
}

// forget takes a room out of the list, so that the next command makes a new one.
func (s *Sandbox) forget(r *room) {
	s.mu.Lock()
	if s.rooms[r.key] == r {
		delete(s.rooms, r.key)
	}
	s.mu.Unlock()
	r.doom()
}

// EndSession removes what commands of a session shared. Commands that still run
// keep it until they have ended.
func (s *Sandbox) EndSession(id tipstaff.SessionID) {
	var ended []*room
	s.mu.Lock()
	for key, r := range s.rooms {
		if key.session == id {
			delete(s.rooms, key)
			ended = append(ended, r)
		}
	}
	s.mu.Unlock()
	for _, r := range ended {
		r.doom()
	}
}

// doom closes the room as soon as nobody is in it.
func (r *room) doom() {
	r.mu.Lock()
	r.doomed = true
	idle := r.users == 0
	r.mu.Unlock()
	if idle {
		r.close()
	}
}

// leave is called by each who has entered, with the walls that it was given.
func (r *room) leave(w *walls) {
	r.mu.Lock()
	r.users--
	r.used = time.Now()
	over := r.users == 0 && r.doomed
	r.mu.Unlock()
	r.drop(w)
	if over {
		r.close()
	} else {
		r.sandbox.behind(r.lookAgain)
	}
}

// drop takes a user from walls, and closes them when that was the last one.
func (r *room) drop(w *walls) {
	if w == nil {
		return
	}
	r.mu.Lock()
	w.users--
	last := w.users == 0
	r.mu.Unlock()
	if last {
		w.close(r.sandbox.guard)
	}
}

// close removes the room. Nobody is in it.
func (r *room) close() {
	r.mu.Lock()
	gone := r.gone
	r.gone = true
	w := r.walls
	r.walls = nil
	r.mu.Unlock()
	if gone {
		return
	}
	r.drop(w)
	if r.doors != nil {
		r.doors.close()
	}
	if err := removeTree(r.dir); err != nil {
		r.sandbox.o.Log.Error("cannot remove temporary files of commands", "dir", r.dir, "error", err)
	}
}

// make builds the room.
func (r *room) make() error {
	if err := os.MkdirAll(tempOf(r.dir), 0o700); err != nil {
		return fmt.Errorf("cannot make a temporary directory: %w", err)
	}
	r.token = rand.Text()
	began, control := time.Now(), r.sandbox.controls.Load()
	w, err := r.sandbox.build(r)
	if err != nil {
		return err
	}
	if r.held.profile == profile.Workspace {
		for _, dir := range w.paths.Workspace {
			if why := whyNotUsable(dir); why != "" {
				r.sandbox.warnOnce("commands cannot work in a workspace", "why", why)
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.walls, r.control, r.looked, r.cost = w, control, time.Now(), time.Since(began)
	return nil
}

// makeNow makes the room, which has a user for that.
func (r *room) makeNow() {
	r.err = r.make()
	r.mu.Lock()
	r.users--
	over := r.users == 0 && r.doomed
	r.mu.Unlock()
	close(r.made)
	if over {
		r.close()
	}
}

// await makes the room, or waits until it is made, for as long as a call has time; 0 is
// as long as it takes. It reports whether it is made, or cannot be. What takes longer
// than the call goes on behind it.
func (r *room) await(patience time.Duration) bool {
	r.making.Do(func() {
		r.mu.Lock()
		r.users++ // until it is made
		r.mu.Unlock()
		if !r.sandbox.behind(r.makeNow) {
			r.err = errClosed
			close(r.made)
		}
	})
	if patience <= 0 {
		<-r.made
		return true
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-r.made:
		return true
	case <-limit.C:
		return false
	}
}
