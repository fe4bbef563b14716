// Package escape tries to get out of the sandbox. Its tests hold the escape
// list, E01 to E69, which world_test.go maps to files: what a command may try,
// and what has to come of it, in each tier, as root and as an ordinary user.
// The same attempt without a sandbox is the control: it has to succeed, else
// nothing is shown and the test fails.
//
// Everything runs in a PID namespace and a mount namespace that are the tests'
// own. The tests are part of `go test ./...`, but not under the race detector:
// it would see the client alone, which other tests show it; the server is
// another program.
package escape
