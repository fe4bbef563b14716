// Tipstaff runs commands for AI agents: by the operator's rules, confined,
// ended together with everything that they started, and recorded.
//
// This package assembles the parts and reads the command line, with one file
// for each subcommand. internal/monitor has the path of a command.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"tipstaff/internal/proc"
)

// Exit codes, the same for every subcommand.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitConfig      = 3
	exitDenied      = 4
	exitApproval    = 5
	exitTampered    = 6
	exitIncomplete  = 7
	exitInterrupted = 130
)

func main() {
	proc.Seal()
	os.Exit(execute(os.Args[1:]))
}

func execute(args []string) int {
	ctx, stop := signals()
	defer stop()
	cmd := newRoot(args)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var e *exitError
	if !errors.As(err, &e) {
		e = &exitError{code: exitUsage, err: err}
	}
	text := ""
	if e.err != nil {
		text = fmt.Sprintf("tipstaff: %v\n", e.err)
	}
	if e.code == exitUsage {
		text += "Run 'tipstaff --help' for the commands, or 'tipstaff COMMAND --help' for one of them.\n"
	}
	lastWords(os.Stderr, text)
	return e.code
}

// lastWords writes why the program ends, for a reader who takes it within a second: a
// server must end even if its standard error is not read.
func lastWords(w io.Writer, text string) {
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = io.WriteString(w, text)
	}()
	select {
	case <-written:
	case <-time.After(time.Second):
	}
}

// exitError ends the program with a code. err is printed on standard error; nil
// when everything has been printed already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func fail(code int, format string, args ...any) error {
	return &exitError{code: code, err: fmt.Errorf(format, args...)}
}

// errInterrupted is the cause when a person interrupted the program.
var errInterrupted = errors.New("interrupted")

// errTerminated is the cause when the system terminated the program.
var errTerminated = errors.New("terminated")

// signals returns a context that ends with the first signal to end; its cause
// says which signal it was. Later ones change nothing: what runs is being ended
// already. SIGHUP is such a signal until takeHangups is called.
func signals() (context.Context, func()) {
	taken, hangup := withHangups(context.Background())
	ctx, cancel := context.WithCancelCause(taken)
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// Otherwise the first write to a client that is gone would end the process
	// and leave its commands running. The signal is not ignored, because
	// commands would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		for s := range ch {
			switch {
			case s == os.Interrupt:
				cancel(errInterrupted)
			case s != syscall.SIGHUP || !hangup():
				cancel(errTerminated)
			}
		}
	}()
	return ctx, func() { signal.Stop(ch); close(ch); cancel(nil) }
}
