// Package terminal says what a terminal shows: the text that a person would see
// after a program has written to it, and what the keys of a keyboard send.
//
// It knows what programs send to an xterm, but for colours, pictures and the
// mouse, which no text shows. What programs write is not trusted: memory is
// bounded by the size, and no sequence costs more than clearing the whole
// screen.
//
// It is the project's own. Of the emulators in Go that are kept up,
// charmbracelet/x/vt panics on a scrolling region that is larger than the
// screen, and hangs for minutes on a repeat count (its pull request 956);
// hinshun/vt10x was changed last in 2022.
//
// Read next: screen.go, parse.go, sequence.go, key.go.
package terminal
