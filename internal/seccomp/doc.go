// Package seccomp writes the filter that the kernel asks before each system
// call of a confined command: a program for the classic BPF machine, described
// in Documentation/userspace-api/seccomp_filter.rst.
//
// The filter is the second wall. What a command may do to files is decided by
// Landlock and by its mounts; the filter takes away what those do not see, and
// the parts of the kernel in which holes are found most often: namespaces and
// mounts, other processes, keyrings, io_uring, exotic sockets. It names what is
// forbidden, because compilers and browsers use nearly all the rest; but a call
// that nobody has decided about yet, being newer than the tables, does not
// exist for a command.
//
// A refusal is an error that programs know: EPERM where permission is missing,
// ENOSYS where they have another way, EAFNOSUPPORT for a family of sockets,
// EOPNOTSUPP for attributes.
// Only a call through another architecture's entry kills the process, for its
// number would mean another call.
//
// The filter cannot see what a pointer points to. Calls that hide their flags
// in memory (clone3, openat2) are therefore answered with ENOSYS, and their
// older forms, with flags in registers, are looked at.
//
// The package makes no system calls: it builds filters for any architecture on
// any. Read next: rules.go, the policy; numbers.go, what to do about a new
// kernel; assemble.go.
package seccomp
