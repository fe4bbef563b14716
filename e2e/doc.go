// Package e2e drives the built binary as its users do: agents over real
// standard input and output (testdata/contract/*.txtar, a script for each row of
// the contract; rows_*_test.go has what no script can do: several clients, clocks and
// processes), people on the command line (testdata/*.txtar), and the official
// TypeScript clients (ts/). Users can read the scripts; conversation in
// conversation_test.go says which commands they have.
//
// What goes wrong around one server, and must hold up nothing, is in faults*_test.go:
//
//	faults_workspace_test.go  hostile workspaces (attacks on the sandbox: escape/)
//	faults_unread_test.go     standard error, copies of records and answers that are not read
//	faults_flight_test.go     more calls in flight than are carried out at once
//	faults_test.go            programs that do not start
//
// What needs a server from inside is with the package: full disks in internal/audit
// (full_linux_test.go, reserve_linux_test.go) and internal/sandbox (temporary_test.go),
// killed and stopped helpers in internal/proc (lost_test.go), the log's queue in
// internal/server (log_test.go), the budget of a search in internal/sandbox/profile
// (budget_test.go). A fleet that is broken is in faults/.
package e2e
