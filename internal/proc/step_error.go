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

func (e *StepError) Error() string { return fmt.Sprintf("step %q: %v", e.Step, e.Errno) }
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

const filterCalls = "filter system calls"

// NoListener reports whether an enclosure could not be made because the kernel
// cannot pass system calls to a supervisor here: it is older than Linux 5.19
// (EINVAL), or an outer sandbox has a listener already, and a process can have
// only one (EBUSY).
func NoListener(err error) bool {
	var at *StepError
	return errors.As(err, &at) && at.Step == filterCalls && (at.Errno == syscall.EBUSY || at.Errno == syscall.EINVAL)
}
