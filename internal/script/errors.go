package script

import (
	"errors"
	"fmt"
	"syscall"

	"tipstaff"
	"tipstaff/internal/script/ipc"
)

// Exit codes of commands that did not run, as shells have them.
const (
	notRun   = 126
	notFound = 127
)

// refused says of a command why it did not run. Rule is empty where nothing refused
// it: then the script goes on, as it does in Bash.
func refused(m ipc.Message, err error) tipstaff.ScriptCommand {
	e := tipstaff.AsError(err)
	one := tipstaff.ScriptCommand{Line: m.Line, Words: m.Words, ExitCode: notRun, Msg: e.Msg}
	switch {
	case e.Code == tipstaff.ProgramNotFound:
		one.ExitCode, one.Msg = notFound, "command not found"
	case e.Code == tipstaff.ProgramNotExecutable && errors.Is(err, syscall.ENOEXEC):
	case e.Code == tipstaff.ProgramNotExecutable:
		one.Msg = "Permission denied"
	case errors.Is(err, syscall.E2BIG):
		one.Msg = "Argument list too long"
	case e.Code == tipstaff.ExecutionError:
	default:
		if one.Rule = e.Rule; one.Rule == "" {
			one.Rule = string(e.Code)
		}
	}
	return one
}

// said is what the script's standard error says of a command that did not run.
func said(c *tipstaff.ScriptCommand, hint string) string {
	if c.Rule == "" {
		return fmt.Sprintf("%s: %s", bounded(c.Words[0]), c.Msg)
	}
	text := fmt.Sprintf("%s: refused by tipstaff (%s): %s", bounded(c.Words[0]), c.Rule, c.Msg)
	if hint != "" {
		text += " " + hint
	}
	return text
}

// unconfined refuses a script where nothing would confine the script process: then
// its redirections would write anywhere.
func unconfined() error {
	return &tipstaff.Error{
		Code: tipstaff.ExecutionError, Rule: "sandbox",
		Msg:  "Scripts need a sandbox, and this server has none, so nothing ran.",
		Hint: "Make one call of execute_command for each command. tipstaff doctor tells the operator what the sandbox needs.",
	}
}

// notTaken says that no script process took the script over.
func notTaken(err error) error {
	return &tipstaff.Error{
		Code: tipstaff.ExecutionError, Rule: "start", Err: fmt.Errorf("cannot hand a script over: %w", err),
		Msg:  "The process that interprets scripts could not be used, so nothing ran.",
		Hint: "This is a fault of the machine or the server; tell the operator if it stays.",
	}
}
