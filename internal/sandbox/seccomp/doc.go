// Package seccomp builds the filter that the kernel applies to each system call
// of a confined command: a program for the classic BPF machine, described in
// Documentation/userspace-api/seccomp_filter.rst.
//
// The filter is the second layer. Landlock and mounts decide what a command may
// do to files. The filter refuses what those do not control, and the parts of
// the kernel in which vulnerabilities are found most often: namespaces and
// mounts, other processes, keyrings, io_uring, uncommon sockets. It lists what
// is refused, because compilers and browsers use nearly all other calls; but a
// call that is newer than the tables does not exist for a command (ENOSYS).
//
// A refusal is an error that programs know: EPERM where permission is missing,
// ENOSYS where they have a fallback, EAFNOSUPPORT for a socket family,
// EOPNOTSUPP for attributes. Only a call through another architecture's entry
// point kills the process, because its number would mean another call.
//
// The filter cannot read memory that an argument points to. Calls with flags in
// memory (clone3, openat2) are therefore answered with ENOSYS, and the filter
// checks their older forms, which pass flags in registers.
//
// The package makes no system calls: it builds filters for any architecture on
// any. Read next: rules.go, the policy; numbers.go, what to do for a new
// kernel; assemble.go.
package seccomp
