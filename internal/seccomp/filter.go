package seccomp

import (
	"fmt"
	"runtime"
)

// Arch is a processor architecture. There is no filter for the zero Arch.
type Arch int

const (
	AMD64 Arch = iota + 1
	ARM64
)

// Native returns the architecture that this program was built for, and whether
// there are filters for it.
func Native() (Arch, bool) {
	switch runtime.GOARCH {
	case "amd64":
		return AMD64, true
	case "arm64":
		return ARM64, true
	}
	return 0, false
}

// audit is the architecture as the kernel tells it to a filter: AUDIT_ARCH_* of
// linux/audit.h. Both are little-endian, which the offsets of words rely on.
func (a Arch) audit() uint32 {
	switch a {
	case AMD64:
		return 0xc000003e
	case ARM64:
		return 0xc00000b7
	}
	return 0
}

// Sockets says which sockets a command may make. Pairs of connected stream
// sockets are pipes by another name and always allowed.
type Sockets int

const (
	// NoSockets allows none.
	NoSockets Sockets = iota
	// Internet allows TCP, MPTCP, UDP and echo requests over IPv4 and IPv6, and
	// the netlink family that tells about interfaces and routes. Which hosts
	// they reach is not the filter's concern: it cannot see addresses.
	Internet
)

// Options say what a command may do beyond what all may. The zero Options
// allow nothing more.
type Options struct {
	Sockets Sockets

	// OwnIPC says that the command has an IPC namespace of its own, so that
	// System V IPC and message queues reach nobody else. Without it they are
	// refused.
	OwnIPC bool

	// Attributes allows extended attributes and access control lists of files to be
	// set. Landlock does not see that, so without it they are refused everywhere, as
	// by a file system that has none.
	Attributes bool

	// AllowUnix allows sockets of the Unix family. The filter cannot tell which
	// ones of other processes a command connects to; something else has to.
	AllowUnix bool

	// AskRenames says that a supervisor is asked about rename, renameat and
	// renameat2 (SECCOMP_RET_USER_NOTIF). It needs a listener; without one, these
	// calls fail with ENOSYS.
	AskRenames bool

	// AskUnix says that a supervisor is asked about every socket of the Unix family
	// and about every connect: the filter cannot see to where. The supervisor makes
	// the sockets itself, already connected, so that a command never has one that it
	// could connect anywhere. It needs a listener, and goes before AllowUnix.
	AskUnix bool

	// SiblingSecret is the fifth argument of clone by which the filter knows who
	// may make children of its own parent (CLONE_PARENT), and of clone3 by which
	// it knows who may call that at all; 0: nobody may.
	SiblingSecret uint64
}

// Instruction is one instruction of the classic BPF machine: struct sock_filter
// of linux/filter.h, with the same layout.
type Instruction struct {
	Code      uint16
	JumpTrue  uint8 // how many instructions to leave out if the condition holds
	JumpFalse uint8 // and if it does not
	K         uint32
}

// Filter returns the filter for commands on an architecture. Each call returns
// a new slice. It fails if it does not know the architecture or an option.
func Filter(a Arch, o Options) ([]Instruction, error) {
	calls, ok := tableOf(a)
	if !ok {
		return nil, fmt.Errorf("cannot make a seccomp filter: architecture %d is unknown", a)
	}
	if o.Sockets != NoSockets && o.Sockets != Internet {
		return nil, fmt.Errorf("cannot make a seccomp filter: sockets %d are unknown", o.Sockets)
	}
	spans, err := spansOf(calls, rules(o))
	if err != nil {
		return nil, fmt.Errorf("cannot make a seccomp filter: %w", err)
	}
	code, err := assemble(&question{
		of:        architecture,
		answers:   []answer{{equals, a.audit(), search(number, leavesOf(spans))}},
		otherwise: kill,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot make a seccomp filter: %w", err)
	}
	return code, nil
}
