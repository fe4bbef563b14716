package policy

import (
	"errors"
	"fmt"

	"tipstaff"
	"tipstaff/internal/command/cmdline"
)

// maxLine bounds a command line: the longest that a program can be given, with
// room for quotes.
const maxLine = 4 << 20

// split splits a command line into words (contract A2, A3). Words of a request
// are taken byte for byte.
type split struct{ offer cmdline.Offer }

// Judge implements [Rule]: it splits a command line into words. Arguments that
// a caller gives as a list are never split.
func (r split) Judge(req *tipstaff.Request, _ World, d *Draft) []Finding {
	if req.Argv != nil {
		d.Argv = req.Argv
		return nil
	}
	if len(req.Line) > maxLine {
		return []Finding{{
			Rule: "command-line/TOO_LONG",
			Code: tipstaff.InvalidCommandLine,
			Msg:  fmt.Sprintf("the command has %d bytes, more than the %d that can be split (TOO_LONG)", len(req.Line), maxLine),
			Hint: "Give long text to the program with input, or in a file.",
		}}
	}
	line, err := cmdline.Read(req.Line)
	if err == nil {
		d.Argv, d.patterns = line.Words, line.Patterns
		return nil
	}
	f := Finding{Rule: "command-line", Code: tipstaff.InvalidCommandLine, Msg: err.Error()}
	var syntax *cmdline.SyntaxError
	if errors.As(err, &syntax) {
		f.Rule += "/" + string(syntax.Kind)
		f.Hint = syntax.Hint(r.offer)
		f.Details = map[string]any{"kind": string(syntax.Kind), "column": syntax.Column, "found": cmdline.Escape(syntax.Found)}
	}
	return []Finding{f}
}
