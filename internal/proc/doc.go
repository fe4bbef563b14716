// Package proc starts a program, tells how it ended, and ends it together with
// everything that it started.
//
// It is the only package that may start a process; it takes a complete
// [Launch] and decides nothing: which program, in which directory, with which
// environment was settled above. It does not read or write the streams that it
// connects.
//
// On Linux (amd64, arm64) the engine is our own: the server, or for what is
// confined a zygote that shares its memory (zygote_linux.go), forks without
// copying it, the child makes a list of system calls without Go
// (childsteps_linux.go), then exec. What a command
// has started is found wherever it went: by its PID namespace (pidns_linux.go),
// its control group (cgroups_linux.go) or the mark that it carries (mark_linux.go). Other systems have the portable
// engine, which stands on os/exec and ends process groups.
//
// Read next: launch.go, confinement.go, start_linux.go, enclosure_linux.go,
// end_linux.go.
package proc
