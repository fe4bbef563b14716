//go:build linux && (amd64 || arm64)

package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"tipstaff"
)

// A control group bounds a command as a whole. The zygote must not be in that
// group: it shares the server's memory, and when the kernel ends processes of a
// group whose memory is used up, it also ends all processes that share memory
// with them. So the zygote is in a group without limits beside it, and creates
// the command's process in the command's group. This needs no capabilities,
// because both groups and their parent belong to the server's user. Until exec
// the new process shares the server's memory too, but its parent waits for it
// in vfork, and the kernel skips such processes (in_vfork, mm/oom_kill.c).
//
// A group with limits serves the commands of one instance, one after the other,
// and is removed with it. It is never used with the limits of another
// enclosure.

// Bounds returns which limits the engine can enforce for a command as a whole, and why
// not all. It may be called at any time.
func (e *Engine) Bounds() Bounds {
	b := Bounds{InNamespaces: ownPidMax()}
	switch {
	case e.cgroups == nil:
		b.Reason = fmt.Sprintf("the server has no control group of its own: %v", e.noCgroups)
	case e.clone.Load().legacy:
		b.Reason = "processes cannot be made in a control group here: there is no clone3"
	default:
		b.Memory, b.Processes = e.cgroups.on.memory, e.cgroups.on.pids
		if !e.cgroups.on.all() {
			b.Reason = fmt.Sprint(e.cgroups.why)
		}
	}
	return b
}

// check refuses limits that the engine cannot enforce.
func (l GroupLimits) check(b Bounds) error {
	if l.MemoryBytes > 0 && !b.Memory || l.Processes > 0 && !b.Processes {
		return fmt.Errorf("cannot bound a command as a whole: %s", b.Reason)
	}
	return nil
}

func (l GroupLimits) isSet() bool { return l.MemoryBytes > 0 || l.Processes > 0 }

// meter reads the counters of a control group with limits.
type meter struct {
	limits GroupLimits
	// Descriptors of its files; -1 where the kernel has no such file.
	memoryEvents, pidsEvents, current, highest int

	seen counts // before the present command
	peak int64  // before the present command; 0: none ran, or the kernel has reset it
}

// counts are how often the group reached its limits.
type counts struct{ outOfMemory, killed, refused int64 }

// bounded makes a control group with limits.
func (c *cgroups) bounded(l GroupLimits) (*cgroup, error) {
	one, err := openCgroup(c.next())
	if err != nil {
		return nil, err
	}
	one.meter = &meter{limits: l, memoryEvents: -1, pidsEvents: -1, current: -1, highest: -1}
	if err := one.bind(); err != nil {
		one.remove()
		return nil, fmt.Errorf("cannot bound a control group: %w", err)
	}
	return one, nil
}

// bind writes the limits and opens the files with the counters. It fails if no file
// tells when a limit is reached: a command that was killed for its memory would look
// like one that crashed.
func (one *cgroup) bind() error {
	m := one.meter
	write := func(name string, value int64) error {
		return os.WriteFile(filepath.Join(one.path, name), strconv.AppendInt(nil, value, 10), 0)
	}
	if m.limits.MemoryBytes > 0 {
		if err := errors.Join(write("memory.max", m.limits.MemoryBytes), write("memory.oom.group", 1)); err != nil {
			return err
		}
		if err := write("memory.swap.max", 0); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if m.limits.Processes > 0 {
		if err := write("pids.max", int64(m.limits.Processes)); err != nil {
			return err
		}
	}
	open := func(name string, flags int) int {
		fd, err := unix.Open(filepath.Join(one.path, name), flags|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1
		}
		return fd
	}
	m.memoryEvents, m.pidsEvents = open("memory.events", unix.O_RDONLY), open("pids.events", unix.O_RDONLY)
	m.current = open("memory.current", unix.O_RDONLY)
	if m.highest = open("memory.peak", unix.O_RDWR); m.highest < 0 {
		m.highest = open("memory.peak", unix.O_RDONLY)
	}
	if m.limits.MemoryBytes > 0 && m.memoryEvents < 0 || m.limits.Processes > 0 && m.pidsEvents < 0 {
		return errors.New("nothing tells when it meets its bounds")
	}
	return nil
}

func (m *meter) close() {
	for _, fd := range []int{m.memoryEvents, m.pidsEvents, m.current, m.highest} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// settle adds what the kernel has counted for the last command of the group to u, and
// prepares the meter for the next command. The counters cover all commands of the
// group, so it subtracts what earlier ones have used.
func (m *meter) settle(u *tipstaff.Usage) {
	var buf [512]byte
	now := counts{}
	if text := readAt(m.memoryEvents, buf[:]); text != nil {
		now.outOfMemory, now.killed = field(text, "oom"), field(text, "oom_kill")
	}
	now.refused = field(readAt(m.pidsEvents, buf[:]), "max")
	// The kernel counts processes as killed even if it ended them because the
	// machine ran out of memory.
	u.OutOfMemory = now.outOfMemory > m.seen.outOfMemory && now.killed > m.seen.killed
	u.RefusedProcesses = now.refused - m.seen.refused
	m.seen = now
	// The peak covers all commands that were in the group. If it has grown, it
	// is that of the last command. Since Linux 6.12 it can be reset.
	if peak := number(readAt(m.highest, buf[:])); peak > m.peak {
		u.PeakBytes, m.peak = peak, peak
	}
	if _, err := unix.Pwrite(m.highest, []byte("0"), 0); err == nil {
		m.peak = 0
	}
	if u.OutOfMemory && u.PeakBytes == 0 {
		u.PeakBytes = m.limits.MemoryBytes
	}
}

// fouled reports whether so much memory is still charged to the group that the next
// command would be short of it. Page cache stays charged too, but the kernel reclaims
// it. Files in memory (/dev/shm) cannot be reclaimed: they remain as long as their file
// system, which is that of the session. They stay charged to the group in which they
// were written; once that group is removed, they count for no later command, and the
// size of their file system bounds them.
func (one *cgroup) fouled() bool {
	var buf [64]byte
	m := one.meter
	most := m.limits.MemoryBytes / 4
	if most == 0 || number(readAt(m.current, buf[:])) <= most {
		return false
	}
	stat, err := os.ReadFile(filepath.Join(one.path, "memory.stat"))
	return err != nil || field(stat, "shmem") > most
}

// settle reads the meter of the instance, if it has one.
func (i *instance) settle(u *tipstaff.Usage) {
	if i.bounded() {
		i.cgroup.meter.settle(u)
	}
}

// bounded reports whether the instance has a control group with limits, which
// its zygote is not in.
func (i *instance) bounded() bool { return i.cgroup != nil && i.cgroup.meter != nil }

// commandGroup returns the descriptor of the control group in which the zygote creates
// processes; -1 is its own.
func (i *instance) commandGroup() int {
	if i.bounded() {
		return i.cgroup.dir
	}
	return -1
}

// resident returns the process that keeps the control group of the instance populated;
// 0 if there is none.
func (i *instance) resident() int {
	if i.bounded() {
		return 0
	}
	return i.zygote.pid
}

// replaceFouledCgroup gives the instance another control group if its own is fouled.
func (i *instance) replaceFouledCgroup() error {
	if !i.bounded() || !i.cgroup.fouled() {
		return nil
	}
	one, err := i.in.engine.cgroups.bounded(i.cgroup.meter.limits)
	if err == nil {
		i.cgroup.remove()
		i.cgroup = one
	}
	return err
}

func readAt(fd int, buf []byte) []byte {
	if n, err := unix.Pread(fd, buf, 0); err == nil {
		return buf[:n]
	}
	return nil
}

// field returns the number after a name, in a text of lines "name number".
func field(text []byte, name string) int64 {
	for line := range bytes.Lines(text) {
		if key, value, ok := bytes.Cut(line, []byte(" ")); ok && string(key) == name {
			return number(value)
		}
	}
	return 0
}

func number(text []byte) int64 {
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return n
}
