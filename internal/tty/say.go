package tty

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"tipstaff/internal/exit"
)

// Output is a standard stream that remembers that something could not be written to it.
// Its Write may be called concurrently.
type Output struct {
	File *os.File

	mu  sync.Mutex
	err error
}

// Write is that of the file.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.File.Write(p)
	// A reader that wants no more, as head, is no fault.
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = err
	}
	return n, err
}

// Err returns why something could not be written, with an exit code; nil if all was.
func (o *Output) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		return nil
	}
	return exit.Errorf(exit.Failure, "cannot print: %w", o.err)
}

// Say prints a line for a person.
func Say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }

// Write writes text that is printed as it is. The error has an exit code.
func Write(w io.Writer, text []byte) error {
	if _, err := w.Write(text); err != nil {
		return exit.Errorf(exit.Failure, "cannot print: %w", err)
	}
	return nil
}
