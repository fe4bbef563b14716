package policy

import (
	"errors"

	"tipstaff"
	"tipstaff/internal/shell"
)

// rulesOf returns the rules for a request. A script has no words of its own: its
// commands are judged when it comes to them.
func (p *Policy) rulesOf(req *tipstaff.Request) []entry {
	if req.Script == "" {
		return p.rules
	}
	list := []entry{{script{}, commandFirst}}
	for _, e := range p.rules {
		if e.place == restLast {
			list = append(list, e)
		}
	}
	return list
}

// script refuses a text that is no script that can be run.
type script struct{}

func (script) Judge(req *tipstaff.Request, _ World, _ *Draft) []Finding {
	_, err := shell.Parse(req.Script)
	if err == nil {
		return nil
	}
	f := Finding{Rule: "script", Code: tipstaff.InvalidCommandLine, Msg: "The script was not run: " + err.Error()}
	if fault, is := errors.AsType[*shell.Fault](err); is {
		f.Hint = fault.Hint
		f.Details = map[string]any{"line": fault.Line, "column": fault.Column}
	}
	return []Finding{f}
}
