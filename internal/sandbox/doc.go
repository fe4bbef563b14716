// Package sandbox decides how a command is confined on this machine, and makes what
// that takes: Landlock rulesets, filters of system calls, namespaces with a view of
// the file system, limits, an egress proxy.
//
// New finds out once how strong the sandbox can be, by trying it (probe.go). It never
// gets weaker afterwards: if something cannot be made for a command, the result is an
// error, and the command does not run. The package does not decide which commands
// run, and starts none: it hands a [proc.Enclosure] to the code that starts them.
//
// Commands share a session sandbox: the namespaces, the ruleset and the temporary
// directory of one session, or of all calls without one (session.go). In it, each
// command has a Landlock domain and a PID namespace of its own.
//
// Rescans in the background find what commands and people change (rescan.go).
// internal/sandbox/guard protects files that steer programs outside of the sandbox; this
// package tells it which files there are and which commands run (guarded.go).
//
// Read next: sandbox.go, session.go, view.go, guarded.go.
package sandbox
