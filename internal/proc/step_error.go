package proc

import (
	"errors"
	"fmt"
	"syscall"
)

// StepError says at which step of a start the kernel refused.
type StepError struct {
	Step  string
	Errno syscall.Errno
}

// Error names the step and what the kernel answered.
func (e *StepError) Error() string {
	text := fmt.Sprintf("step %q: %v", e.Step, e.Errno)
	if e.Step == enterDomain && e.Errno == syscall.E2BIG {
		text += " (the kernel nests 16 domains, and the server runs below too many)"
	}
	return text
}

const enterDomain = "enter a Landlock domain"

// Unwrap returns the errno.
func (e *StepError) Unwrap() error { return e.Errno }

const enterDirectory = "enter directory"

// EnteringDirectory reports whether a start failed to enter the directory.
func EnteringDirectory(err error) bool {
	var at *StepError
	return errors.As(err, &at) && at.Step == enterDirectory
}

const execute = "execute"

// BeforeTheProgram reports whether a start failed at a step that does not
// depend on the program's file.
func BeforeTheProgram(err error) bool {
	var at *StepError
	return errors.As(err, &at) && at.Step != execute
}

// ErrUnstarted is the error for a program whose process another one ended before
// exec: see [Status].
var ErrUnstarted = fmt.Errorf("%w, or the command's own before the program began", errLost)

var (
	// errLost: another process has killed or stopped a process by which commands are
	// started, and nothing was started.
	errLost = errors.New("another process ended or stopped the one that was to start the command")
	// errUnclear is the same where the program may have begun.
	errUnclear = errors.New("another process ended the one that was starting the command, which may have begun")
)

// Lost reports whether nothing was started because another process ended or stopped
// the ones that start commands.
func Lost(err error) bool { return errors.Is(err, errLost) }

// Unclear reports whether it is not known if the program ran at all. It has ended.
func Unclear(err error) bool { return errors.Is(err, errUnclear) }

const filterCalls = "filter system calls"

// NoListener reports whether an enclosure could not be made because the kernel cannot
// pass system calls to a supervisor here. Either it is older than Linux 5.19 (EINVAL),
// or an outer sandbox has a listener already, and a process can have only one (EBUSY).
func NoListener(err error) bool {
	var at *StepError
	return errors.As(err, &at) && at.Step == filterCalls && (at.Errno == syscall.EBUSY || at.Errno == syscall.EINVAL)
}
