package decider

import (
	"errors"

	"tipstaff"
	"tipstaff/internal/policy"
)

// The rule name of the decider's findings, and where they come from.
const (
	rule   = "decider"
	source = "TIPSTAFF_DECIDER"
)

// errUndefined tells the operator the usual reasons for an undefined document.
var errUndefined = errors.New("the decider's document is undefined for this command: its rules say nothing of it, or the address names another document")

// finding turns an answer into a finding of the policy.
func (a *answer) finding() policy.Finding {
	f := policy.Finding{Rule: rule, At: source, Effect: a.effect, Hint: a.hint}
	if a.id != "" {
		f.At += " " + a.id
	}
	switch {
	case a.undefined:
		f.Code, f.Err = tipstaff.CommandNotAllowed, errUndefined
		f.Msg = "the operator's decider does not allow this command: it says nothing of it"
	case a.effect == policy.Allow:
		return f
	case a.effect == policy.Ask:
		f.Msg = "the operator's decider wants a person to allow this command"
	default:
		f.Code = tipstaff.CommandNotAllowed
		f.Msg = "the operator's decider does not allow this command"
	}
	if a.reason != "" {
		f.Msg += ": " + a.reason
	}
	if f.Hint == "" {
		f.Hint = "This is a rule of the operator's own. Do what the reason says, if it says what to do; else ask the person that you work for."
	}
	return f
}

// unasked is the finding when the decider could not be asked or gave no usable
// answer.
func unasked(err error) policy.Finding {
	return policy.Finding{
		Rule: rule, At: source, Code: tipstaff.PolicyUnavailable, Err: err,
		Msg:  "the operator's decider could not be asked, so nothing was started",
		Hint: "It is not about this command: every one is refused until the decider answers again. Try again later, and tell the operator if it stays.",
	}
}

// unsayable is the finding for a command that cannot be described exactly in
// JSON.
func unsayable(err error) policy.Finding {
	return policy.Finding{
		Rule: rule, At: source, Code: tipstaff.CommandNotAllowed, Err: err,
		Msg:  "the operator's decider cannot be asked about this command: " + err.Error(),
		Hint: "What cannot be asked is not allowed. Use names and paths in UTF-8.",
	}
}

// cancelled is the finding for a caller that went away while the decider was
// asked.
func cancelled(err error) policy.Finding {
	return policy.Finding{
		Rule: "cancelled", Code: tipstaff.ExecutionError, Err: err,
		Msg:  "The call was cancelled before the command was started; nothing ran.",
		Hint: "Call again if it is still wanted.",
	}
}
