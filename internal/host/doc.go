// Package host answers the questions that the policy asks about the machine:
// which file a name leads to on the server's trusted PATH, what directory a
// path opens, which roots and allowlists the operator has set, and where
// commands may write.
//
// It finds facts and judges nothing. It is the real [policy.World].
//
// Read next: host.go.
package host
