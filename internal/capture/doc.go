// Package capture keeps a bounded part of what a command prints, and reads and
// drops the rest, so that no command waits for its reader.
//
// A [Buffer] keeps the beginning and the end of one stream and counts
// everything; [Share] divides one bound between the two streams of a command.
// The package knows nothing about processes: it reads from an io.Reader.
package capture
