//go:build !unix

package ship

// adopts says whether trails of processes that have ended can be recognized.
// Here they cannot: a copy that a process did not finish is not continued, and
// doctor counts it.
const adopts = false
