// Package sandbox decides how a command is confined on this machine, and makes
// what that takes: Landlock rulesets, filters of system calls, namespaces with a
// view of the file system, limits, an egress proxy.
//
// The strength is found out once, at the start, by trying (probe.go). It never
// falls afterwards: what cannot be made for a command is an error, and the
// command does not run. It decides nothing about which commands run, and starts
// none: it hands a [proc.Enclosure] to whoever does.
//
// Commands share a session sandbox: the namespaces, the ruleset and the temporary directory
// of one session, or of all calls without one (session.go). In a session sandbox each has a
// Landlock domain and a PID namespace of its own.
//
// What commands and people change is found by looks behind the calls (rescan.go), and
// what steers programs outside of the sandbox is protected by internal/guard, which
// this package tells what there is and which commands run (guarded.go).
//
// Read next: sandbox.go, session.go, view.go, guarded.go.
package sandbox
