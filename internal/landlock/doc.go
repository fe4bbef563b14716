// Package landlock builds the rulesets by which the kernel confines a command
// to certain files, and away from TCP, from abstract sockets and from signals
// to others: landlock(7), Documentation/userspace-api/landlock.rst.
//
// A [Ruleset] names what is handled, which is then refused, and the files for
// which it is allowed. It confines nobody until a process applies its
// descriptor to itself with landlock_restrict_self; that happens in the child
// of internal/proc, between clone and exec. Every process that does so is in a
// domain of its own: two commands under one ruleset cannot trace each other.
//
// What the kernel can restrict depends on its version of Landlock, the ABI. The
// package restricts all that it can and says what that is, [Ruleset.Handled];
// whether it is enough is decided above. There is never a ruleset that
// restricts nothing.
//
// Landlock does not see everything that is done to files: attributes, modes,
// owners and times can be changed, and whether a file exists can be asked,
// wherever file permissions allow it. It knows nothing of UDP.
//
// Read next: access.go, effective.go, ruleset.go, kernel_linux.go.
package landlock
