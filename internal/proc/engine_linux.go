//go:build linux && (amd64 || arm64)

package proc

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Engine starts programs, and ends them with everything that they started. Make
// one for each server, with [NewEngine]. Its methods may be called
// concurrently.
//
// A program is started by vfork and exec without the Go runtime, so the cost
// does not depend on the size of the server. It is ended by its PID namespace
// if it has one, else by its control group if the server can make one, else by
// the tag that every descendant carries (descendant_tag_linux.go). All three find
// descendants wherever they went.
type Engine struct {
	clone     atomic.Pointer[cloner]
	null      int // descriptor of /dev/null
	slots     *fdSlots
	cgroups   *cgroups // nil if the server cannot make control groups
	noCgroups error    // why it cannot
	tag       serverTag
	reaped    int        // number of processes of dead servers that were ended
	ownerLock *ownerLock // of this server, for the next one; nil without a state directory
	orphans   *orphans
	census    census
	ignored   []uintptr // signals that the server was started to ignore
	files     unix.Rlimit
	tasks     uint64 // limit of processes for commands; 0: none

	counter atomic.Uint64 // of tags
	ended   atomic.Uint64 // commands that have ended

	openMu sync.Mutex
	open   *Enclosure // of commands that are not confined; nil before the first of them

	// starting is held for reading from the creation of a child until it is
	// recorded, and for writing by code that must not mistake such a child for
	// an orphan.
	starting sync.RWMutex
	live     sync.Map // pid → *Process
	firsts   sync.Map // pids of zygotes and of the first processes of PID namespaces
}

// NewEngine chooses the best means that the machine has. With [Options.StateDir] it
// also ends the processes that dead servers with the same directory have left running.
// It changes the whole process, which becomes a subreaper and ignores SIGCHLD. The
// caller closes the engine.
func NewEngine(o Options) (*Engine, error) {
	if _, _, there := stat(os.Getpid()); !there {
		return nil, errNoProc
	}
	null, err := openNull()
	if err != nil {
		return nil, err
	}
	tag, err := newServerTag()
	if err != nil {
		return nil, err
	}
	e := &Engine{null: null, tag: tag, ignored: ignoredSignals(), files: originalFiles(), tasks: processesForCommands()}
	e.clone.Store(&cloner{})
	e.slots = newFDSlots(null)
	reserveThreads()
	if err := becomeSubreaper(); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot become the reaper of orphaned processes: %w", err), unix.Close(null))
	}
	if err := ignoreChildSignals(); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot ignore SIGCHLD: %w", err), unix.Close(null))
	}
	e.cgroups, e.noCgroups = newCgroups(tag)
	if err := e.probeClone(); err != nil {
		return nil, err
	}
	if o.StateDir != "" {
		if e.ownerLock, err = takeOwnerLock(o.StateDir, tag, e.cgroups); err != nil {
			return nil, err
		}
		if e.reaped, err = e.reap(); err != nil {
			return nil, err
		}
	}
	e.orphans = e.collectOrphans()
	return e, nil
}

// errNoProc: without it, the processes of a command cannot be found.
var errNoProc = errors.New("there is no /proc here, by which commands are watched and ended: mount it (mount -t proc proc /proc), or give the container one")

// probeClone finds out which call can make a child: kernels before 5.7 lack flags of
// clone3 that are needed here, and sandboxes that cannot inspect its arguments answer
// ENOSYS.
func (e *Engine) probeClone() error {
	cgroup := -1
	if e.cgroups != nil {
		one, err := e.cgroups.take()
		if err != nil {
			return err
		}
		defer e.cgroups.giveBack(one)
		cgroup = one.dir
	}
	s := &childSteps{}
	s.add("end", unix.SYS_EXIT_GROUP, 0)
	pid, _, err := e.clone.Load().start(s, cloning{cgroup: cgroup})
	if err != nil {
		e.clone.Store(&cloner{legacy: true})
		if pid, _, err = e.clone.Load().start(s, cloning{cgroup: -1}); err != nil {
			return fmt.Errorf("cannot start commands: %w", err)
		}
	}
	reapNow(pid)
	return nil
}

// Reaped returns how many processes of dead servers were ended at the start.
func (e *Engine) Reaped() int { return e.reaped }

// Means describes how this engine starts and ends programs.
func (e *Engine) Means() Means {
	m := Means{Start: "vfork and exec; of confined ones by zygotes", End: "control group (cgroup.kill)"}
	if e.cgroups == nil {
		m.End, m.Reason = "scan for the command's mark", fmt.Sprintf("no control group of our own: %v", e.noCgroups)
	}
	return m
}

// Close releases what the engine holds. No program may run any more, and none may be
// started.
func (e *Engine) Close() error {
	e.openMu.Lock()
	if e.open != nil {
		e.open.Close()
	}
	e.openMu.Unlock()
	e.orphans.stop()
	e.orphans.close()
	e.slots.close()
	var err error
	if e.cgroups != nil {
		err = e.cgroups.close()
	}
	if e.ownerLock != nil {
		err = errors.Join(err, e.ownerLock.release())
	}
	return errors.Join(err, unix.Close(e.null))
}

// openNull opens /dev/null at a descriptor above 2. A server that was started without
// some of its standard streams would get one of theirs, and a child would overwrite it
// with its own stream.
func openNull() (int, error) {
	fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("cannot open /dev/null: %w", err)
	}
	if fd > 2 {
		return fd, nil
	}
	// The server was started without some of its standard streams. Descriptors
	// for children must not lie at 0, 1 or 2, where the child's own streams
	// will be.
	defer closeFDs([]int{fd})
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
}
