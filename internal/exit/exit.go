package exit

import (
	"errors"
	"fmt"
)

// Exit codes, the same for every subcommand.
const (
	OK          = 0
	Failure     = 1
	Usage       = 2
	Config      = 3
	Denied      = 4
	Approval    = 5
	Tampered    = 6
	Incomplete  = 7
	Later       = 8 // what becomes of it is known only when it runs
	Interrupted = 130
)

// Error ends the program with a code. Err is printed on standard error; nil
// when everything has been printed already.
type Error struct {
	Code int
	Err  error
	// Foreign says that Code is none of this package's: a command has ended with it, was
	// refused with it, or a client wants it.
	Foreign bool
}

// Error returns the text of Err, or names the code.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an error that ends the program with a code; the text is that of
// [fmt.Errorf].
func Errorf(code int, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}

// ErrInterrupted is the cause when a person interrupted the program.
var ErrInterrupted = errors.New("interrupted")

// ErrTerminated is the cause when the system terminated the program.
var ErrTerminated = errors.New("terminated")
