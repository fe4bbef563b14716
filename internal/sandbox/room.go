//go:build linux

package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff"
)

// roomKey says who shares a room: the calls of a session, or those of a principal
// without one, with the same workspace and under the same terms.
type roomKey struct {
	principal string
	session   tipstaff.SessionID
	workspace string // its directories, each ended by a NUL
	terms     string // see Terms.key
}

// room is what commands share that may know of each other, the sandbox of a session: a
// temporary directory, and the view, network and ruleset that were made for it.
type room struct {
	sandbox     *Sandbox
	key         roomKey
	constraints *constraints
	held        *held
	doors       *doors // nil if commands have none
	dir         string // in the scratch directory

	making sync.Once
	made   chan struct{} // closed when err is settled
	err    error
	token  string // for the proxy

	mu     sync.Mutex
	walls  *walls // as they stand now; nil when they could not be made
	users  int
	doomed bool // nobody enters any more; the last one who leaves closes it
	gone   bool
	spent  bool // it is not given on, because there are too many
	used   time.Time
	began  time.Time // when its first command came in
	// furnished: directories were made in it for a view, and commands may have been there.
	furnished bool
	refused   []refusal       // by the proxy, since the last command ended
	told      map[string]bool // copies that differ, and were told of
	unsafe    []string        // renames that the guard refused, since the last command ended

	renewing sync.Mutex // held by whoever makes new walls in the place of others
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
	r, err := s.roomOf(key, h, workspace, c.Patience)
	if err != nil {
		return nil, nil, err
	}
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
	if r.began.IsZero() {
		r.began = time.Now()
	}
	return r, r.walls, nil
}

// roomOf finds a room, or the constraints for a new one, and makes that. The room has a
// user more.
func (s *Sandbox) roomOf(key roomKey, h *held, workspace []string, patience time.Duration) (*room, error) {
	s.mu.Lock()
	if r, err := s.roomFor(key); r != nil || err != nil {
		s.mu.Unlock()
		return r, err
	}
	c := s.constraintsOf(h, workspace)
	s.mu.Unlock()
	if err := c.await(patience); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, err := s.roomFor(key); r != nil || err != nil {
		return r, err // another command has made it meanwhile
	}
	r := s.claim(c, h)
	if r == nil {
		r = s.newRoom(c, h)
	}
	r.mu.Lock()
	r.key, r.users = key, 1 // before one is chosen that goes
	r.mu.Unlock()
	s.rooms[key] = r
	s.evict()
	return r, nil
}

// roomFor finds a room that is there, and enters it. The caller holds s.mu.
func (s *Sandbox) roomFor(key roomKey) (*room, error) {
	if s.closed {
		return nil, errClosed
	}
	r := s.rooms[key]
	if r != nil {
		r.mu.Lock()
		r.users++
		r.mu.Unlock()
	}
	return r, nil
}

// newRoom gives a room that is nobody's yet and has to be made. The caller holds s.mu.
func (s *Sandbox) newRoom(c *constraints, h *held) *room {
	s.count++
	r := &room{sandbox: s, constraints: c, held: h, made: make(chan struct{}), dir: filepath.Join(s.scratch.dir, strconv.Itoa(s.count))}
	if h.doors {
		r.doors = newDoors()
	}
	return r
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
		oldest.mu.Lock()
		oldest.spent = true
		oldest.mu.Unlock()
		s.inBackground(oldest.doom)
		idle = slices.DeleteFunc(idle, func(r *room) bool { return r == oldest })
	}
}

// idle reports whether no command is in the room.
func (r *room) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.users == 0
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
		r.sandbox.retire(r)
	}
}

// leave is called by each command that has entered, with the walls that it was given.
func (r *room) leave(w *walls) {
	r.drop(w)
	r.mu.Lock()
	r.used = time.Now()
	session := r.key.session != ""
	r.mu.Unlock()
	r.part()
	r.sandbox.behind(func() {
		r.constraints.rescanAgain()
		if session {
			r.sandbox.makeAhead(r.constraints, r.held)
		}
	})
}

// part takes a user from the room, and ends it if that was the last one of a room that
// is to go.
func (r *room) part() {
	r.mu.Lock()
	r.users--
	over := r.users == 0 && r.doomed
	r.mu.Unlock()
	if over {
		r.sandbox.retire(r)
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
	if w != nil && w.remove(r.dir) {
		return
	}
	if err := removeTree(r.dir); err != nil {
		r.sandbox.o.Log.Error("cannot remove temporary files of commands", "dir", r.dir, "error", err)
	}
}

// make builds the room.
func (r *room) make() error {
	for _, dir := range []string{r.dir, tempOf(r.dir)} {
		if err := unix.Mkdir(dir, 0o700); err != nil {
			return fmt.Errorf("cannot make a temporary directory in %s: %w", r.sandbox.scratch.dir, err)
		}
	}
	r.token = rand.Text()
	w, err := r.build(r.constraints.current())
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.walls = w
	return nil
}

// isNew reports whether no command has been in the room.
func (r *room) isNew() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.walls == nil
}

// makeNow makes the room, which has a user for that.
func (r *room) makeNow() {
	r.err = r.make()
	close(r.made)
	r.part()
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
	return waitFor(r.made, patience)
}

// refresh makes new walls before a command where those that stand are not of the current
// version, or where a pin has come off. The room has a user.
func (r *room) refresh() error {
	if now, _ := r.outdated(); !now {
		return nil
	}
	r.renewing.Lock()
	defer r.renewing.Unlock()
	now, must := r.outdated()
	if !now { // another command has seen to it
		return nil
	}
	err := r.renew()
	if err != nil && must {
		return fmt.Errorf("a protected file was replaced, and the sandbox could not be made anew: %w", err)
	}
	if err != nil {
		r.sandbox.o.Log.Error("cannot bring the sandbox up to date; commands are confined as before", "error", err)
	}
	return nil
}

// outdated reports whether the next command is to have new walls, and whether it must
// not run without.
func (r *room) outdated() (now, must bool) {
	v := r.constraints.current()
	r.mu.Lock()
	w := r.walls
	r.mu.Unlock()
	must = w.version.control != r.sandbox.controls.Load() || r.sandbox.guard.Stale(w.enclosure)
	return must || w.version != v || w.places.Load() > mostPlaces, must
}

// renew makes new walls for the commands that come. The caller holds r.renewing.
func (r *room) renew() error {
	v, err := r.constraints.current(), error(nil)
	if v == nil || v.control != r.sandbox.controls.Load() {
		if v, err = r.constraints.rescan(); err != nil {
			return err
		}
	}
	w, err := r.build(v)
	if err != nil {
		return err
	}
	r.mu.Lock()
	old := r.walls
	r.walls = w
	r.mu.Unlock()
	r.drop(old)
	return nil
}
