// Package session keeps terminal sessions: who owns them, where they work, what
// they are doing, and when they end.
//
// Commands of one session run one at a time in the order in which they were
// requested; sessions are independent of each other. The package runs nothing
// itself: it gives a command its turn and passes it to a function of the
// caller.
//
// Read next: store.go, then turn.go.
package session
