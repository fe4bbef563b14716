//go:build linux

package run

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"tipstaff"
	"tipstaff/internal/proc"
)

// TestAStartErrorIsToldByStepAndErrno tests every way in which a start can
// fail, including those that a machine cannot produce on demand. The caller is
// told what to do; the operator is told the step and the reason.
func TestAStartErrorIsToldByStepAndErrno(t *testing.T) {
	g := newBench(t).grant(argv("true"))
	defer g.Close()
	at := func(step string, errno syscall.Errno) error { return &proc.StepError{Step: step, Errno: errno} }
	const nothingLeft = "no process, memory or file descriptor left"
	for _, c := range []struct {
		err  error
		code tipstaff.Code
		msg  string
	}{
		{at("execute", syscall.ENOENT), tipstaff.ProgramNotFound, "does not exist"},
		{at("execute", syscall.ENOTDIR), tipstaff.ProgramNotFound, "does not exist"},
		{at("execute", syscall.ENOEXEC), tipstaff.ProgramNotExecutable, "no format"},
		{at("execute", syscall.EACCES), tipstaff.ProgramNotExecutable, "permission denied"},
		{at("execute", syscall.EPERM), tipstaff.ProgramNotExecutable, "permission denied"},
		{at("execute", syscall.E2BIG), tipstaff.ExecutionError, "larger than this system accepts"},
		{at("execute", syscall.ETXTBSY), tipstaff.ExecutionError, "being written"},
		{at("execute", syscall.ENOMEM), tipstaff.ExecutionError, nothingLeft},
		{at("execute", syscall.EMFILE), tipstaff.ExecutionError, nothingLeft},
		{at("execute", syscall.EAGAIN), tipstaff.ExecutionError, nothingLeft},
		{at("execute", syscall.ELOOP), tipstaff.ExecutionError, "could not be started."},
		{at("execute", syscall.ENAMETOOLONG), tipstaff.ExecutionError, "could not be started."},
		{at("execute", syscall.ELIBBAD), tipstaff.ExecutionError, "could not be started."},
		{at("execute", syscall.EIO), tipstaff.ExecutionError, "could not be started."},
		{at("enter directory", syscall.EACCES), tipstaff.DirectoryNotAllowed, "could not be entered"},
		{at("enter directory", syscall.ENOENT), tipstaff.DirectoryNotAllowed, "could not be entered"},
		{at("enter directory", syscall.ESTALE), tipstaff.DirectoryNotAllowed, "could not be entered"},
		{at("make a process", syscall.EAGAIN), tipstaff.ExecutionError, nothingLeft},
		{at("make a process", syscall.ENOMEM), tipstaff.ExecutionError, nothingLeft},
		{at("arrange descriptors", syscall.EMFILE), tipstaff.ExecutionError, nothingLeft},
		{at("make a control group", syscall.ENFILE), tipstaff.ExecutionError, nothingLeft},
		{at("make a control group", syscall.ENOSPC), tipstaff.ExecutionError, "could not be started."},
		{at("limit processes", syscall.EINVAL), tipstaff.ExecutionError, "could not be started."},
		{errReplaced, tipstaff.ExecutionError, "was replaced"},
		{errors.New("something new"), tipstaff.ExecutionError, "could not be started."},
	} {
		var e *tipstaff.Error
		if !errors.As(startError(g, c.err), &e) || e.Code != c.code || !strings.Contains(e.Msg, c.msg) || e.Hint == "" || e.Rule != "start" {
			t.Errorf("%v is told as %+v", c.err, e)
		}
		if !errors.Is(e, c.err) || !strings.Contains(e.Err.Error(), c.err.Error()) || strings.Contains(e.Msg+e.Hint, "/") && !strings.Contains(e.Hint, "#!") {
			t.Errorf("%v: the operator is told %v, the caller %s %s", c.err, e.Err, e.Msg, e.Hint)
		}
	}
}

// TestOnlyTheLastStepBlamesTheProgram: in earlier steps the same errno does not
// mean that the program is missing or may not be executed.
func TestOnlyTheLastStepBlamesTheProgram(t *testing.T) {
	g := newBench(t).grant(argv("true"))
	defer g.Close()
	for _, step := range []string{"make a control group", "make a process", "enter the control group", "arrange descriptors", "carry the mark", "connect standard input"} {
		for _, errno := range []syscall.Errno{syscall.ENOENT, syscall.ENOTDIR, syscall.EACCES, syscall.EPERM, syscall.ENOEXEC, syscall.ETXTBSY, syscall.E2BIG} {
			e := tipstaff.AsError(startError(g, &proc.StepError{Step: step, Errno: errno}))
			if e.Code != tipstaff.ExecutionError || !strings.HasSuffix(e.Msg, "could not be started.") {
				t.Errorf("%v at %q is told as %s %s", errno, step, e.Code, e.Msg)
			}
		}
	}
}
