// Package facts answers the policy's questions about the machine: which file a
// name leads to on the server's trusted PATH, what directory a path names,
// which roots and allowlists the operator has set, and where commands may
// write.
//
// It finds facts and decides nothing. [Host] is the real [policy.World].
//
// Read next: host.go.
package facts
