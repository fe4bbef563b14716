// Package proc starts a program, reports how it ended, and ends it together
// with everything that it started.
//
// It is the only package that may start a process. It takes a complete [Launch]
// and decides nothing: the caller has chosen the program, the directory and the
// environment. It does not read or write the streams that it connects.
//
// On Linux (amd64, arm64) the package has an engine of its own. The parent of a
// child is the server, or, for a confined command, a zygote that shares the
// server's memory (zygote_linux.go). The parent clones itself without copying
// memory, and the child carries out a list of system calls without Go
// (childsteps_linux.go) that ends with exec. The engine finds the descendants
// of a command wherever they went: by their PID namespace (pidns_linux.go),
// their control group (cgroups_linux.go) or the tag that they carry
// (descendant_tag_linux.go). Other systems have the portable engine, which is built on
// os/exec and ends process groups.
//
// Read next: launch.go, confinement.go, start_linux.go, enclosure_linux.go,
// end_linux.go.
package proc
