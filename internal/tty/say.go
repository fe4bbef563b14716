package tty

import (
	"fmt"
	"io"

	"tipstaff/internal/exit"
)

// Say prints a line for a person.
func Say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }

// Write writes text that is printed as it is. The error has an exit code.
func Write(w io.Writer, text []byte) error {
	if _, err := w.Write(text); err != nil {
		return exit.Errorf(exit.Failure, "cannot print: %w", err)
	}
	return nil
}
