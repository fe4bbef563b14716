package proc

import (
	"os"
	"syscall"
)

// EnclosureSpec says what the programs of an enclosure have in common.
type EnclosureSpec struct {
	// Namespaces are made for the enclosure; nil: its programs stay in the
	// server's.
	Namespaces *NamespaceSpec
	// Filter is a seccomp program; empty: none. It has to let through what a
	// child does until it is another program.
	Filter []Instruction
	// CloneSecret is the last argument of the calls of clone by which commands are
	// made. The filter can know them by it, and refuse to others to make children
	// of the server.
	CloneSecret uint64
	// Supervise is asked about the system calls for which Filter says so
	// (SECCOMP_RET_USER_NOTIF); nil: it says so of none. Each command has a
	// goroutine that asks, one call after the other: what takes long is to be done
	// on another one. Every call must be answered.
	Supervise func(Call)
	Limits    []Limit
	// Domain says who enters a Landlock domain. Unless it is nobody, nothing runs
	// before [Enclosure.Restrict] was called.
	Domain Domain
	// Group bounds each command as a whole. To ask for what [Engine.Bounds] does
	// not have is an error.
	Group GroupLimits
}

// Domain says who enters a Landlock domain of its own.
type Domain int

const (
	NoDomain Domain = iota
	// DomainOfPlace is for namespaces, where programs cannot reach what made them:
	// there a domain for each place does as well as one for each program, and
	// costs nothing.
	DomainOfPlace
	// DomainOfCommand is for everywhere else.
	DomainOfCommand
)

// Instruction is one of a seccomp filter: struct sock_filter, linux/filter.h.
type Instruction struct {
	Code                uint16
	JumpTrue, JumpFalse uint8
	K                   uint32
}

// Call is a system call of a command that waits for an answer: seccomp_unotify(2).
// What its arguments point to may change at any time: the kernel reads them again
// after Continue, so that is no way to allow what nothing else forbids. Methods may
// be called from many goroutines at once; the first answer counts.
//
//nolint:interfacebloat // one call: what it asks, and what can be answered
type Call interface {
	PID() int              // of the process, as the server sees it
	Number() int           // of the call
	Argument(i int) uint64 // 0 to 5
	// Text reads the path that an argument points to.
	Text(address uint64) (string, error)
	// OpenDir opens a directory as the process would name it, with O_PATH; the
	// caller closes the descriptor.
	OpenDir(dirfd int32, path string) (int, error)
	// Valid reports whether the process still waits. It was killed otherwise, and
	// another one may have its number.
	Valid() bool
	// Give puts a copy of a descriptor of the server's into the process and returns
	// its number there, in one. An error says that nothing was given or returned.
	Give(fd int, closeOnExec bool) error
	Continue()                  // the kernel carries out the call
	Return(errno syscall.Errno) // the call returns an error, or 0
}

// Limit is a limit of a resource, for each process of a command: setrlimit(2).
type Limit struct {
	Resource int // RLIMIT_*
	Value    uint64
}

// GroupLimits bound a command with everything that it starts, by its control
// group. 0 is no limit.
type GroupLimits struct {
	MemoryBytes int64 // when it is used up, the whole command is ended: memory.max
	Processes   int   // threads count as well: pids.max
}

// Bounds are the [GroupLimits] that an engine can keep.
type Bounds struct {
	Memory, Processes bool
	// InNamespaces says that [NamespaceSpec.Processes] is kept as well.
	InNamespaces bool
	// Reason says why not both, and what to do about it; "" when both.
	Reason string
}

// NamespaceSpec says what programs see that live in namespaces.
type NamespaceSpec struct {
	// ReadOnly makes every file read-only, but for what Mounts bring.
	ReadOnly bool
	// Mounts are made in this order.
	Mounts []Mount
	// OwnNetwork gives a network of its own, with nothing but a loopback.
	OwnNetwork bool
	// Listen is a port of that loopback on which the server listens; 0: none.
	Listen uint16
	// Processes is how many processes a command may have, about; 0: no limit.
	Processes int
}

// Mount is one mount of the view that programs have.
type Mount struct {
	Path string // where; it exists
	// Source is what is seen there, with everything below: a directory or a
	// file outside of the namespaces. "": a new file system in memory.
	Source   string
	ReadOnly bool
	Device   bool   // Source is a device, or has some
	Bytes    int64  // of a new file system, at most; 0: it is empty and nobody may enter
	Mode     uint32 // of its root
	// Terminals makes the new file system one of pseudo-terminals: devpts.
	Terminals bool
	// Link: Path and Source are a symbolic link, which is mounted on itself.
	Link bool
	// KeepCovered keeps a descriptor of the directory that this mount covers, for
	// [Enclosure.Bind].
	KeepCovered bool
}

// Listener is the socket of [NamespaceSpec.Listen], for the server to accept
// connections on; nil without one. Close closes it.
func (n *Enclosure) Listener() *os.File { return n.listener }

// Roots are descriptors of the new file systems that have room, by path: the
// names that they have inside mean something else outside.
func (n *Enclosure) Roots() map[string]int { return n.roots }
