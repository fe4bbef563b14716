// Package escape tries to get out of the sandbox. Its tests cover the escape
// list, E01 to E69, which world_test.go maps to files: what a command may try,
// and the expected result in each tier, as root and as an ordinary user. The
// same attempt without a sandbox is the control: if it does not succeed, the
// test proves nothing and fails.
//
// Everything runs in a PID namespace and a mount namespace of the tests. The
// tests are part of `go test ./...`, but not under the race detector: it would
// only cover the client, which other tests cover; the server is another
// program.
package escape
