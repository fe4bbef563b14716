//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tipstaff"
	"tipstaff/internal/guard"
	"tipstaff/internal/landlock"
	"tipstaff/internal/proc"
)

// Sandbox confines the commands of one server. Its methods may be called from
// many goroutines at once.
type Sandbox struct {
	o       Options
	status  Status
	scratch *scratch
	secret  uint64        // by which the filter knows the calls that make commands
	own     *held         // what commands are held to without terms of their own
	fault   error         // why no command may run
	found   chan struct{} // closed when all of the above is settled

	guard    *guard.Guard // of files that steer programs outside
	asks     bool         // the kernel can ask about system calls
	noAsking error        // why not
	lately   lately

	mu    sync.Mutex
	rooms map[roomKey]*room
	// constraints are those that sessions have, or have had.
	constraints map[constraintsKey]*constraints
	tight       map[string]*held // by the terms that asked for it
	count       int              // rooms that were made
	closed      bool
	// complaint is the reason for a refusal that was logged last; warned are
	// warnings that were logged: one room after the other would repeat them.
	complaint string
	warned    map[string]bool
	// repositories are those that any look has found, by their paths and by those
	// of their directories; seenThrough are the workspaces that were looked
	// through to the end.
	repositories map[string]repository
	seenThrough  []string
	control      []string             // see AllowControl
	controls     atomic.Uint64        // how often it was called
	probing      atomic.Bool          // the tier is being found out; no command runs yet
	late         []tipstaff.Violation // that looks have put back, and no command has told
	work         sync.WaitGroup       // what goes on behind the calls
	ending       chan struct{}        // holds those that end sandboxes behind the calls

	calls    atomic.Int64
	lastCall atomic.Int64 // when it was over, in nanoseconds
	restDue  atomic.Bool  // somebody will look whether the sandbox can rest

	need   sync.Once
	needed chan struct{} // closed when somebody waits for found

	closing    sync.Once
	closeError error
}

// New finds out what the machine gives, by trying it, and takes the best of it
// or what is required. It fails where Require is not met, and where the network
// cannot be kept as it is to be. Where neither can happen it does not wait until
// it has found out; whoever needs to know does.
func New(o Options) (*Sandbox, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Sandbox{o: o, rooms: map[roomKey]*room{}, constraints: map[constraintsKey]*constraints{}, tight: map[string]*held{}, warned: map[string]bool{}, repositories: map[string]repository{}, status: newStatus(o), ending: make(chan struct{}, mostEnding), found: make(chan struct{}), needed: make(chan struct{})}
	if o.Mode == Off {
		close(s.found)
		s.status.Reason = "it is switched off (TIPSTAFF_SANDBOX=off)"
		return s, s.keepsNetwork()
	}
	s.inBackground(proc.GrowDescriptors)
	if !filepath.IsAbs(o.Temp) {
		return nil, fmt.Errorf("cannot make a directory for temporary files: %q is no absolute path", o.Temp)
	}
	temp, err := filepath.EvalSymlinks(o.Temp)
	if err != nil {
		return nil, fmt.Errorf("cannot make a directory for temporary files: %w", err)
	}
	if s.scratch, err = newScratch(temp); err != nil {
		return nil, err
	}
	if err := o.Modes.Add(s.scratch.dir); err != nil {
		return nil, errors.Join(err, s.scratch.close())
	}
	if s.guard, err = guard.New(guard.Options{Aside: o.aside(s.scratch.dir), Log: o.Log}); err != nil {
		return nil, errors.Join(err, s.scratch.close())
	}
	if o.Mode == BestEffort && o.Network.needs() == None {
		go s.findLater()
		return s, nil
	}
	if s.find(func(error) {}); s.fault != nil {
		return nil, errors.Join(s.fault, s.Close())
	}
	return s, nil
}

// headStart is how long a server may answer its first questions before it finds
// out about the sandbox, unless a command comes: to make namespaces holds up the
// whole program for some milliseconds.
const headStart = 50 * time.Millisecond

// findLater finds out after the head start, or when somebody needs to know.
func (s *Sandbox) findLater() {
	timer := time.NewTimer(headStart)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.needed:
	}
	s.find(s.complain)
}

// await waits until it is known how strong the sandbox is.
func (s *Sandbox) await() {
	s.need.Do(func() { close(s.needed) })
	<-s.found
}

// find settles on a tier, and tells of a fault.
func (s *Sandbox) find(tell func(error)) {
	defer close(s.found)
	if s.fault = s.chooseTier(); s.fault == nil {
		s.fault = s.keepsNetwork()
	}
	if s.fault != nil {
		tell(s.fault)
	}
}

// keepsNetwork refuses where the tier cannot keep commands to what the setting
// says: a list is never weakened to something else.
func (s *Sandbox) keepsNetwork() error {
	needs := s.o.Network.needs()
	if s.status.tier >= needs {
		return nil
	}
	return fmt.Errorf("TIPSTAFF_NETWORK=%s needs the sandbox tier %s and this is %s: %s\nSet TIPSTAFF_NETWORK=on to go without, or mend what tipstaff doctor names",
		s.o.Network, needs, s.status.tier, s.status.Reason)
}

// Status tells how commands are confined.
func (s *Sandbox) Status() Status {
	if s.found == nil {
		st := newStatus(s.o)
		st.Reason = errNoSandbox.Error()
		return st
	}
	s.await()
	return s.status
}

// Outlook is [Sandbox.Status] for those who cannot wait until it has been found out: as
// much as is known. Before, the tier is what the kernel speaks for, and of the paths
// only the workspaces of the settings are there.
func (s *Sandbox) Outlook() Status {
	if s.found == nil {
		return s.Status()
	}
	select {
	case <-s.found:
		return s.status
	default:
	}
	st := newStatus(s.o)
	st.Tier = ""
	if abi, _ := landlock.Version(); abi > 0 {
		st.Tier = "namespaces or landlock, being found out"
		if s.o.Tier == Landlock { // at most, for the settings require nothing
			st.Tier = Landlock.String()
		}
	}
	st.Paths.Workspace = s.o.Workspace
	if len(st.Paths.Workspace) == 0 {
		st.Paths.Workspace = []string{s.o.Directory}
	}
	return st
}

// errNoSandbox is what the zero Sandbox says to everything.
var errNoSandbox = errors.New("there is no sandbox")

// Err says why no command may run; nil if commands may. A room that cannot be made
// later is told by Confine.
func (s *Sandbox) Err() error {
	if s.found == nil {
		return errNoSandbox
	}
	s.await()
	return s.fault
}

// complain logs why commands are refused, once for each reason: it is the machine
// or the server that has to be mended, and whoever calls cannot do that.
func (s *Sandbox) complain(err error) {
	s.mu.Lock()
	known := s.complaint == err.Error()
	s.complaint = err.Error()
	s.mu.Unlock()
	if !known {
		s.o.Log.Error("the sandbox could not be made; commands that need it are refused", "error", err)
	}
}

// warnOnce logs a warning that nobody needs twice.
func (s *Sandbox) warnOnce(text string, args ...any) {
	key := fmt.Sprint(text, args)
	s.mu.Lock()
	known := s.warned[key]
	s.warned[key] = true
	s.mu.Unlock()
	if !known {
		s.o.Log.Warn(text, args...) //nolint:sloglint // the text is a constant where it is called
	}
}

// Confined is how to start one command. The caller releases it when nothing of
// the command is left.
type Confined struct {
	Confinement *proc.Enclosure // nil: the command is not confined
	Env         []string        // the command's environment
	sandbox     *Sandbox
	dir         string
	program     string // its path
	room        *room
	walls       *walls
	guarded     *guard.Command    // nil when it was told that the command has ended
	paths       map[string]string // of its doors
	closeDoors  func()
	over        func() // tells that the call is; nil when it was told
}

// errNoDoors: the filter of a room without doors lets nobody reach one.
var errNoDoors = errors.New("a command has doors and its terms have none")

// Confine gets ready what the command is to be held to. An error means that it
// must not run.
func (s *Sandbox) Confine(c Command) (*Confined, error) {
	if s.found == nil {
		return nil, errNoSandbox
	}
	s.await()
	switch {
	case s.fault != nil:
		return nil, s.fault
	case s.meets(c.Terms) != nil:
		return nil, s.meets(c.Terms)
	case len(c.Doors) > 0 && !c.Terms.Doors:
		return nil, errNoDoors
	case s.status.tier != None:
	case s.o.Mode == Off, s.o.Mode == BestEffort:
		return &Confined{Env: c.Env, over: s.begin()}, nil
	default:
		return nil, errNoSandbox
	}
	s.restoreModes()
	over := s.begin()
	r, w, err := s.enter(c)
	if err != nil {
		over()
		s.complain(err)
		return nil, err
	}
	if w.enclosure == nil {
		return nil, errNoSandbox // to hand out nothing would mean freedom
	}
	confined := &Confined{
		Confinement: w.enclosure, Env: r.environment(c.Env),
		sandbox: s, over: over, dir: c.Dir, program: c.Program, room: r, walls: w, guarded: s.guard.Begin(w.paths.Writable(), c.stop()),
	}
	if len(c.Doors) > 0 {
		confined.paths, confined.closeDoors = r.doors.admit(c.Doors)
	}
	return confined, nil
}

// DoorPath is where the command connects to one of its doors; "" if it has none of
// that name.
func (c *Confined) DoorPath(name string) string { return c.paths[name] }

// CloseDoors closes the doors of the command and returns when nobody serves at them
// any more. It may be called more than once; Release does it as well.
func (c *Confined) CloseDoors() {
	if c.closeDoors != nil {
		c.closeDoors()
	}
}

// Release lets go of what Confine got ready.
func (c *Confined) Release() {
	c.CloseDoors()
	if c.room != nil {
		c.violations()
		c.sandbox.restoreModes()
		c.room.leave(c.walls)
	}
	if c.over != nil {
		c.over()
		c.over = nil
	}
}

// restoreModes sets back the modes of the server's directories, which commands can
// change in the tier that does not see chmod.
func (s *Sandbox) restoreModes() {
	if s.status.tier != Landlock {
		return
	}
	if err := s.o.Modes.Restore(); err != nil {
		s.complain(err)
	}
}

// inBackground does f behind the calls; Close waits for it.
func (s *Sandbox) inBackground(f func()) { s.work.Go(f) }

// behind is inBackground for those who do not know whether Close has been called;
// then nothing is done, and it says so.
func (s *Sandbox) behind(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.inBackground(f)
	}
	return !s.closed
}

// Close removes everything. No command may run then, or be started. To close
// again changes nothing and gives the same error.
func (s *Sandbox) Close() error {
	if s.found == nil {
		return nil // the zero Sandbox
	}
	s.closing.Do(func() { s.closeError = s.close() })
	return s.closeError
}

func (s *Sandbox) close() error {
	s.await()
	s.mu.Lock()
	s.closed = true
	rooms := slices.Collect(maps.Values(s.rooms))
	for _, c := range s.constraints {
		rooms = append(rooms, c.takeAhead()...)
	}
	s.rooms = map[roomKey]*room{}
	tight := s.tight
	s.mu.Unlock()
	s.work.Wait()
	for _, r := range rooms {
		r.close()
	}
	var err error
	for _, h := range tight {
		err = errors.Join(err, h.close())
	}
	if s.own != nil {
		err = errors.Join(err, s.own.close())
	}
	if s.guard != nil {
		err = errors.Join(err, s.guard.Close())
	}
	if s.scratch != nil {
		err = errors.Join(err, s.scratch.close())
	}
	return err
}
