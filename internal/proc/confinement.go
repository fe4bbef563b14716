package proc

import "os"

// Confinement is what a program is held to, with everything that it starts.
// It can be used for many launches at once; whoever made its parts keeps them
// open until the last has started.
type Confinement struct {
	// Namespaces that the program enters; nil: it stays in the server's.
	Namespaces *Namespaces
	// Ruleset is the descriptor of a Landlock ruleset; 0: none. Each program
	// gets a domain of its own from it.
	Ruleset int
	// Filter is a seccomp program; empty: none.
	Filter []Instruction
	Limits []Limit
}

// Instruction is one of a seccomp filter: struct sock_filter, linux/filter.h.
type Instruction struct {
	Code                uint16
	JumpTrue, JumpFalse uint8
	K                   uint32
}

// Limit is a limit of a resource, for each process of a command: setrlimit(2).
type Limit struct {
	Resource int // RLIMIT_*
	Value    uint64
}

// NamespaceSpec says what commands see that enter namespaces.
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

// Mount is one mount of the view that commands have.
type Mount struct {
	Path string // where; it exists
	// Source is what is seen there, with everything below: a directory or a
	// file outside of the namespaces. "": a new file system in memory.
	Source   string
	ReadOnly bool
	Bytes    int64  // of a new file system, at most; 0: it is empty and nobody may enter
	Mode     uint32 // of its root
}

// Listener is the socket of [NamespaceSpec.Listen], for the server to accept
// connections on; nil without one. Close closes it.
func (n *Namespaces) Listener() *os.File { return n.listener }

// Roots are descriptors of the new file systems that have room, by path: the
// names that they have inside mean something else outside.
func (n *Namespaces) Roots() map[string]int { return n.roots }
