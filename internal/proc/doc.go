// Package proc starts a program, tells how it ended, and ends it together with
// everything that it started.
//
// It is the only package that may start a process; it takes a complete
// [Launch] and decides nothing: which program, in which directory, with which
// environment was settled above. It does not read or write the streams that it
// connects.
//
// The engine stands on os/exec. What it can end is the process group of the
// command: a descendant that moved into a session of its own is beyond it.
//
// Read next: proc.go, then end_unix.go.
package proc
