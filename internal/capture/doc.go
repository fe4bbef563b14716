// Package capture keeps a bounded part of what a command prints, and drains
// the rest without end, so that no command ever waits for its reader.
//
// A [Buffer] keeps the beginning and the end of one stream and counts
// everything; [Share] divides one bound between the two streams of a command.
// The package does not know processes: it reads from what it is given.
package capture
