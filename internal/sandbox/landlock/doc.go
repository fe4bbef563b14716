// Package landlock builds Landlock rulesets. They restrict a command to certain
// files, and keep it from TCP, and from abstract sockets and processes outside
// of its domain: landlock(7), Documentation/userspace-api/landlock.rst.
//
// A [Ruleset] names the operations that it handles, which are then refused
// except on the files for which it allows them. It has no effect until a
// process applies its descriptor to itself with landlock_restrict_self; the
// child of internal/proc does that between clone and exec. Every process that
// does so enters a domain of its own: two commands under one ruleset cannot
// trace each other.
//
// What the kernel can restrict depends on its version of Landlock, the ABI. The
// package restricts all that it can and reports what that is
// ([Ruleset.Handled]); the caller decides whether it is enough. A ruleset that
// restricts nothing cannot be made.
//
// Landlock does not control all operations on files: where file permissions
// allow it, a command can change attributes, modes, owners and times, and can
// find out whether a file exists. It does not restrict UDP.
//
// Read next: access.go, effective.go, ruleset.go, kernel_linux.go.
package landlock
