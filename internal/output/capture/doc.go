// Package capture keeps a bounded part of what a command prints, and reads and
// drops the rest, so that no command waits for its reader.
//
// A [Buffer] keeps the beginning and the end of one stream and counts
// everything; [Room] says how much that should be. What an answer shows of it is
// internal/output/clean's matter.
// The package knows nothing about processes: it reads from an io.Reader.
package capture
