//go:build linux && (amd64 || arm64)

package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff/internal/flock"
)

// cgroups are the control groups of a server: one directory for the server, and
// one below it for each running command. They need a directory in the unified
// hierarchy (cgroup v2) where the server may make directories. They need
// controllers only to limit a command (controllers_linux.go, bounds_linux.go).
// A process cannot leave a group unless it may write to another one.
type cgroups struct {
	base string      // the server's directory
	lock *os.File    // base, locked as long as the server lives
	on   controllers // for the groups of commands
	why  error       // why some of them are missing
	// zygotes is the group of the zygotes whose commands have limits, see
	// bounds_linux.go; nil if no command has.
	zygotes *cgroup

	mu   sync.Mutex
	free []*cgroup
	made int
}

// cgroup is the control group of one command.
type cgroup struct {
	path   string
	dir    int // descriptor of the directory, to start processes in
	procs  int // descriptor of cgroup.procs, to enter the group and to list it
	events int // descriptor of cgroup.events, to ask whether the group is populated
	end    int // descriptor of cgroup.kill
	killed bool
	meter  *meter // nil without limits
}

const cgroupPrefix = "tipstaff-"

// newCgroups makes the directory of the server in the hierarchy of control groups, or
// returns why it cannot. It makes a first group at once, so that a machine where groups
// do not work is noticed before the first command. It also removes what dead servers
// have left empty.
func newCgroups(m serverTag) (*cgroups, error) {
	s, err := findSite()
	if err != nil {
		return nil, err
	}
	parent := s.dir
	c := &cgroups{base: filepath.Join(parent, cgroupPrefix+m.String()), why: s.why}
	if err := os.Mkdir(c.base, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make a directory in %s: %w", parent, bare(err))
	}
	if c.lock, err = flock.TryDir(c.base); err != nil {
		err = fmt.Errorf("cannot lock a control group: %w", err)
	} else {
		c.switchOn(s.on)
		var one *cgroup
		if one, err = c.take(); err == nil && c.on != (controllers{}) {
			c.zygotes, err = openCgroup(filepath.Join(c.base, "zygotes"))
		}
		if err == nil {
			c.giveBack(one)
			removeDead(parent)
			return c, nil
		}
		_ = c.lock.Close()
	}
	_ = removeCgroup(c.base)
	return nil, err
}

// switchOn enables the controllers for the groups of commands.
func (c *cgroups) switchOn(on controllers) {
	if err := on.writeTo(c.base); err != nil {
		c.why = fmt.Errorf("the kernel does not bound the groups of commands: %w", bare(err))
	}
	c.on = controllersOf(c.base, "cgroup.subtree_control")
}

// removeDead removes the empty control groups of servers that were killed. The lock
// tells whether a server lives. A group that is not empty is left to the next server
// with the same state directory (survivors_linux.go), which knows whose processes are
// in it.
func removeDead(parent string) {
	entries, _ := os.ReadDir(parent) // no filepath.Glob: systemd writes \x2d in names
	for _, e := range entries {
		tag, ours := strings.CutPrefix(e.Name(), cgroupPrefix)
		if _, ok := parseServerTag(tag); !ours || !ok {
			continue // it may contain living servers
		}
		dir := filepath.Join(parent, e.Name())
		if lock, err := flock.TryDir(dir); err == nil { // no living server holds the lock
			_ = removeCgroup(dir)
			_ = lock.Close()
		}
	}
}

// ownCgroup returns the directory of the control group of the server in the unified
// hierarchy.
func ownCgroup() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	mount := unifiedMount(string(mounts))
	if mount == "" {
		return "", errors.New("the unified hierarchy (cgroup v2) is not mounted")
	}
	for line := range strings.Lines(string(self)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return filepath.Join(mount, path), nil
		}
	}
	return "", errors.New("the server is in no control group of the unified hierarchy")
}

// unifiedMount returns where the whole of cgroup v2 is mounted:
// proc_pid_mountinfo(5).
func unifiedMount(mounts string) string {
	for line := range strings.Lines(mounts) {
		before, after, ok := strings.Cut(line, " - ")
		f := strings.Fields(before)
		if ok && strings.HasPrefix(after, "cgroup2 ") && len(f) > 4 && f[3] == "/" {
			return f[4]
		}
	}
	return ""
}

// take returns an empty control group.
func (c *cgroups) take() (*cgroup, error) {
	c.mu.Lock()
	if n := len(c.free); n > 0 {
		one := c.free[n-1]
		c.free = c.free[:n-1]
		c.mu.Unlock()
		return one, nil
	}
	c.mu.Unlock()
	return openCgroup(c.next())
}

// next returns the path of a new control group.
func (c *cgroups) next() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	return filepath.Join(c.base, strconv.Itoa(c.made))
}

// openCgroup makes a control group and opens its files, all of them at once: so the
// group can be killed even when the server has no descriptor left.
func openCgroup(path string) (*cgroup, error) {
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, &StepError{Step: "make a control group", Errno: errnoOf(err)}
	}
	one := &cgroup{path: path, dir: -1, procs: -1, events: -1, end: -1}
	for _, f := range []struct {
		fd    *int
		name  string
		flags int
	}{
		{&one.dir, "", unix.O_PATH | unix.O_DIRECTORY}, {&one.procs, "cgroup.procs", unix.O_RDWR},
		{&one.events, "cgroup.events", unix.O_RDONLY}, {&one.end, "cgroup.kill", unix.O_WRONLY},
	} {
		fd, err := unix.Open(filepath.Join(path, f.name), f.flags|unix.O_CLOEXEC, 0)
		if err != nil {
			one.remove()
			return nil, fmt.Errorf("cannot open %s of a control group: %w", f.name, err)
		}
		*f.fd = fd
	}
	return one, nil
}

// giveBack keeps an empty group for another command. A group that was killed is
// not used again: since Linux 6.14 the kernel counts kills, and ends a child
// that is created in such a group as if it had been there before the kill.
func (c *cgroups) giveBack(one *cgroup) {
	if one.populated() {
		one.kill() // what remains waits for a device, and is killed when that answers
		if one.meter == nil {
			return
		}
	}
	if one.killed || one.meter != nil {
		one.remove()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, one)
}

func (c *cgroups) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.free {
		one.remove()
	}
	c.free = nil
	if c.zygotes != nil {
		c.zygotes.remove()
	}
	_ = c.lock.Close()
	return clearCgroup(c.base)
}

func (one *cgroup) remove() {
	for _, fd := range []int{one.dir, one.procs, one.events, one.end} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	if one.meter != nil {
		one.meter.close()
	}
	_ = os.Remove(one.path)
}

// populated reports whether a process runs in the group. A process that has
// ended but is not reaped does not count.
func (one *cgroup) populated() bool {
	var buf [128]byte
	n, err := unix.Pread(one.events, buf[:], 0)
	return err != nil || !bytes.Contains(buf[:n], []byte("populated 0"))
}

// populatedBeside reports whether a process other than pid runs in the group.
// If pid is 0, any process counts.
func (one *cgroup) populatedBeside(pid int) bool {
	var buf [64]byte
	want := ""
	if pid != 0 {
		want = strconv.Itoa(pid) + "\n"
	}
	n, err := unix.Pread(one.procs, buf[:], 0)
	return err != nil || string(buf[:n]) != want
}

// members lists the processes in the group.
func (one *cgroup) members() []int {
	data, err := os.ReadFile(filepath.Join(one.path, "cgroup.procs"))
	if err != nil {
		return nil
	}
	var pids []int
	for f := range bytes.FieldsSeq(data) {
		if pid, err := strconv.Atoi(string(f)); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// kill ends all processes in the group, including those that are being created.
func (one *cgroup) kill() {
	one.killed = true
	_, _ = unix.Pwrite(one.end, []byte("1"), 0)
}

// clearCgroup kills everything in a control group and below it, and removes the groups.
// A killed process takes a moment to disappear, so it tries again until forceLimit.
func clearCgroup(path string) error {
	limit := time.Now().Add(forceLimit)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if f, err := os.OpenFile(filepath.Join(path, "cgroup.kill"), os.O_WRONLY, 0); err == nil {
			_, _ = f.WriteString("1")
			_ = f.Close()
		}
		err := removeCgroup(path)
		if err == nil || time.Now().After(limit) {
			return err
		}
		time.Sleep(pause)
	}
}

// removeCgroup removes a control group and those below it, if they are empty.
func removeCgroup(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeCgroup(filepath.Join(path, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func bare(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return unix.EIO
}
