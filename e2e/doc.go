// Package e2e drives the built binary as its users do: agents over real
// standard input and output (rows_*_test.go, one test for each row of the
// contract), people on the command line (testdata/*.txtar, scripts that a user
// can read), and the official TypeScript clients (ts/).
package e2e
