// Package sandbox decides how a command is confined on this machine, and makes
// what that takes: Landlock rulesets, filters of system calls, namespaces with a
// view of the file system, limits, an egress proxy.
//
// The strength is found out once, at the start, by trying (probe.go). It never
// falls afterwards: what cannot be made for a command is an error, and the
// command does not run. It decides nothing about which commands run, and starts
// none: it hands [proc.Confinement] values to whoever does.
//
// Commands share a room: the namespaces, the ruleset and the temporary directory
// of one session, or of all calls without one (room.go). In a room each has a
// Landlock domain and a PID namespace of its own.
//
// What commands and people change is found by looks behind the calls, or by a
// glance before the next command (look.go, glance.go). It changes nothing that is
// a person's but one thing: what is planted to lead git elsewhere is moved aside
// (planted.go).
//
// Read next: sandbox.go, room.go, view.go, lift.go.
package sandbox
