package seccomp

// decision is what happens to a call: a verdict, or a question about the call
// whose answers lead to further decisions. Decisions are compared by identity,
// and one that several places lead to is in the filter once.
type decision interface {
	next() []decision
}

// verdict is what a filter returns: SECCOMP_RET_* of linux/seccomp.h, with an
// error number where there is one. The numbers are the same on amd64 and arm64.
type verdict uint32

const (
	kill  verdict = 0x80000000 // the whole process
	errno verdict = 0x00050000
	ask   verdict = 0x7fc00000 // the supervisor: seccomp_unotify(2)
	allow verdict = 0x7fff0000

	eperm           = errno | 1
	enosys          = errno | 38
	eprotonosupport = errno | 93
	eopnotsupp      = errno | 95
	eafnosupport    = errno | 97
)

func (verdict) next() []decision { return nil }

// question decides by one word: by the first answer that holds, or otherwise.
type question struct {
	of        word
	mask      uint32 // the bits that count; 0 means all of them
	answers   []answer
	otherwise decision
}

type answer struct {
	is   comparison
	k    uint32
	then decision
}

func (q *question) next() []decision {
	list := make([]decision, 0, len(q.answers)+1)
	for _, a := range q.answers {
		list = append(list, a.then)
	}
	return append(list, q.otherwise)
}

// comparison is how a word compares to k. Its value is the opcode.
type comparison uint16

const (
	equals  comparison = 0x15 // BPF_JMP|BPF_JEQ|BPF_K
	atLeast comparison = 0x35 // BPF_JMP|BPF_JGE|BPF_K
	anyBit  comparison = 0x45 // BPF_JMP|BPF_JSET|BPF_K
)

// word is a 32-bit part of struct seccomp_data, by its offset. Arguments are
// 64 bits wide and the machine compares 32 at a time. Where the kernel takes an
// int, it never sees the upper half, whatever a command puts there, and so the
// filter must not look at it either: socket(1<<32|AF_UNIX) makes a Unix socket.
type word uint32

const (
	number       word = 0
	architecture word = 4
	kept         word = ^word(0) // the word of the question before
)

func low(argument int) word  { return word(16 + 8*argument) }
func high(argument int) word { return low(argument) + 4 }
