package policy

import (
	"fmt"
	"path"
	"strings"

	"tipstaff"
	"tipstaff/internal/command/programs"
)

// ArgumentMode says how much of the content of arguments is judged for the
// terminal family (contract B10). The zero mode judges.
type ArgumentMode int

const (
	// ArgumentsContextual judges every position that is not free text for its
	// program.
	ArgumentsContextual ArgumentMode = iota
	// ArgumentsStrict judges every position.
	ArgumentsStrict
	// ArgumentsOff judges no content; the structure of arguments is always
	// judged.
	ArgumentsOff
)

// String returns the name that settings use.
func (m ArgumentMode) String() string {
	switch m {
	case ArgumentsContextual:
		return "contextual"
	case ArgumentsStrict:
		return "strict"
	case ArgumentsOff:
		return "off"
	}
	return fmt.Sprintf("ArgumentMode(%d)", int(m))
}

// ParseArgumentMode reads the name of a mode; "" is the zero mode.
func ParseArgumentMode(s string) (ArgumentMode, error) {
	switch s {
	case "", "contextual":
		return ArgumentsContextual, nil
	case "strict":
		return ArgumentsStrict, nil
	case "off":
		return ArgumentsOff, nil
	}
	return ArgumentsContextual, fmt.Errorf("%q is not a mode for arguments: contextual, strict or off", s)
}

// arguments refuses arguments that were written for a shell (contract B10).
// Without a shell they would have no effect; but some programs pass their
// arguments to shells, and a caller who expects a shell would not get what it
// wants.
type arguments struct{ mode ArgumentMode }

// Judge implements [Rule]. Text that a program takes as text (a commit message)
// may look like a shell's, and is found out only if an argument looks like one,
// because most do not.
func (r arguments) Judge(req *tipstaff.Request, _ World, d *Draft) []Finding {
	if req.Family != tipstaff.Terminal || r.mode == ArgumentsOff || len(d.Argv) < 2 {
		return nil
	}
	args := d.Argv[1:]
	var free []bool // computed only when an argument looks as if it was written for a shell
	var found []Finding
	for i, arg := range args {
		in, ok := intentOf(arg)
		if !ok {
			continue
		}
		if free == nil {
			free = r.textIn(path.Base(d.Argv[0]), args)
		}
		if !free[i] && len(found) < maxFindings {
			found = append(found, unsafeArgument(i, in))
		}
	}
	return found
}

// textIn returns for every argument whether it is free text, a pattern or the
// like, which the program never passes to a shell. In strict mode only words of
// the program's own grammar count as text.
func (r arguments) textIn(program string, args []string) []bool {
	if r.mode == ArgumentsStrict {
		return programs.Grammar(program, args)
	}
	return programs.Read(program, args, programs.Position{}).Text
}

// intent is a sign that an argument was written for a shell.
type intent struct {
	rule  string // substitution, expansion, chaining or redirection
	found string // the part that shows it
}

// intentOf returns the first sign of a shell in an argument.
func intentOf(arg string) (intent, bool) {
	if !strings.ContainsAny(arg, "$`;&|<>\n") {
		return intent{}, false
	}
	for _, sign := range []struct {
		rule string
		find func(string) string
	}{
		{"substitution", findSubstitution},
		{"expansion", findExpansion},
		{"redirection", findRedirection},
		{"chaining", findChaining},
	} {
		if found := sign.find(arg); found != "" {
			return intent{sign.rule, found}, true
		}
	}
	return intent{}, false
}

// unsafeArgument says which argument was refused, and for each kind what to do
// without a shell.
func unsafeArgument(index int, in intent) Finding {
	found := strings.TrimSpace(in.found)
	f := Finding{
		Rule:    "arguments/" + in.rule,
		Code:    tipstaff.UnsafeArguments,
		Msg:     position(index) + " contains " + quoted(found) + ", ",
		Details: map[string]any{"index": index, "rule": in.rule, "found": shown(found)},
	}
	switch in.rule {
	case "substitution":
		f.Msg += "a substitution that only a shell would carry out"
		f.Hint = "No shell runs. Run the inner command in a call of its own and pass its output on as text."
	case "expansion":
		f.Msg += "a variable that only a shell would expand"
		f.Hint = "No shell runs. Write the value itself."
	case "redirection":
		f.Msg += "a redirection that only a shell would carry out"
		f.Hint = "No shell runs. Standard output and standard error come back in the answer."
	default:
		f.Msg += "which chains commands in a shell"
		f.Hint = "No shell runs. Make one call per command."
	}
	f.Hint += " Text that is meant as such belongs where the program takes free text, as after -m of git commit, or in a file."
	return f
}
