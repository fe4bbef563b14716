package policy

import (
	"fmt"
	"slices"
	"strings"

	"tipstaff"
)

// What a caller's variables may come to (rule E-388). Linux counts NAME=value
// as one string of at most 131,071 bytes.
const (
	maxVariables     = 256
	maxVariableBytes = 131_071
	maxVariablesSize = 256 << 10
)

// Environment makes the environment of every command. It does not change after
// [NewEnvironment] and may be used from many goroutines at once.
type Environment struct {
	base   []string // sorted by name, without duplicates
	hidden []string
	lend   map[string]string // of the hidden ones, what a rule may pass on
}

// NewEnvironment takes what is harmless of the server's own variables, each
// "NAME=value", and adds what keeps programs from paging, asking and editing.
// Commands find programs on path and on nothing else.
func NewEnvironment(server []string, path string) *Environment {
	e := &Environment{lend: map[string]string{}}
	rules := environmentRules()
	var vars []string
	for _, v := range server {
		name, value, ok := strings.Cut(v, "=")
		switch {
		case !ok || badName(name) != "" || strings.IndexByte(value, 0) >= 0:
		case rules.passes(name, value, ofServer):
			vars = append(vars, v)
		default:
			e.hidden = append(e.hidden, name)
			if _, twice := e.lend[name]; !twice { // the first one counts, as for getenv(3)
				e.lend[name] = value
			}
		}
	}
	vars = append(vars, unattended()...)
	vars = append(vars, "PATH="+path)
	e.base = sortVariables(vars)
	return e
}

// unattended are the settings of programs that nobody sits in front of: no
// pager, no editor, no prompt, no colours, because these hang, run programs or
// cost tokens. They replace what the server's environment says; a caller may
// replace those that name no program.
func unattended() []string {
	return []string{
		"PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "EDITOR=:", "VISUAL=:", "GIT_EDITOR=:",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "DEBIAN_FRONTEND=noninteractive",
		"TERM=dumb", noColor,
	}
}

const noColor = "NO_COLOR=1"

// Hidden names the server's variables that no command sees.
func (e *Environment) Hidden() []string { return slices.Clone(e.hidden) }

// Admit divides a caller's variables, each "NAME=value", into those that
// commands get and the names of those that they do not: secrets, and whatever
// runs code or moves a lookup. Malformed or too many variables are an
// *[tipstaff.Error] with the code InvalidParameters.
func (e *Environment) Admit(vars []string) (kept, dropped []string, err error) {
	if len(vars) > maxVariables {
		return nil, nil, badEnvironment("", fmt.Sprintf("there are %d environment variables, at most %d are allowed", len(vars), maxVariables))
	}
	rules, total := environmentRules(), 0
	for _, v := range vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			name = v
		}
		if err := checkVariable(name, value); err != nil {
			return nil, nil, err
		}
		if total += len(v); total > maxVariablesSize {
			return nil, nil, badEnvironment(name, fmt.Sprintf("the environment variables have more than %d bytes in all", maxVariablesSize))
		}
		switch {
		case ok && rules.passes(name, value, ofCaller):
			kept = append(kept, v)
		case !slices.Contains(dropped, name):
			dropped = append(dropped, name)
		}
	}
	return kept, dropped, nil
}

// Variable writes a variable as "NAME=value". A name that no environment can
// hold, or that would change the value, is an *[tipstaff.Error] with the code
// InvalidParameters.
func Variable(name, value string) (string, error) {
	if err := checkVariable(name, value); err != nil {
		return "", err
	}
	return name + "=" + value, nil
}

func checkVariable(name, value string) error {
	switch fault := badName(name); {
	case fault != "":
		return badEnvironment(name, "the environment variable "+quoted(name)+" "+fault)
	case strings.IndexByte(value, 0) >= 0:
		return badEnvironment(name, "the value of the environment variable "+quoted(name)+" contains a NUL character")
	case len(name)+1+len(value) > maxVariableBytes:
		return badEnvironment(name, fmt.Sprintf("the environment variable %s has more than %d bytes", quoted(name), maxVariableBytes))
	}
	return nil
}

// badName says what is wrong with a name, "" if nothing is.
func badName(name string) string {
	if name == "" {
		return "has no name"
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c > '~' || c == '=' {
			return "has a name with characters that are not allowed"
		}
	}
	return ""
}

func badEnvironment(name, msg string) error {
	e := &tipstaff.Error{
		Code: tipstaff.InvalidParameters,
		Rule: "environment",
		Msg:  msg,
		Hint: "Names are printable ASCII without blanks and =; values hold no NUL.",
	}
	if name != "" {
		e.Details = map[string]any{"variable": shown(name)}
	}
	return e
}

// complete gives the environment of one command: the base, then what callers
// add, then what they cannot override, then the directory.
func (e *Environment) complete(kept, fixed []string, dir string) []string {
	vars := make([]string, 0, len(e.base)+len(kept)+len(fixed)+1)
	vars = append(vars, e.base...)
	vars = append(vars, kept...)
	vars = append(vars, fixed...)
	if dir != "" {
		vars = append(vars, "PWD="+dir)
	}
	vars = sortVariables(vars)
	if hasVariable(vars, "FORCE_COLOR") || hasVariable(vars, "CLICOLOR_FORCE") {
		// Somebody asked for colours; programs complain about being told both.
		vars = slices.DeleteFunc(vars, func(v string) bool { return v == noColor })
	}
	return vars
}

// sortVariables sorts by name, in place. Of several with one name the last one
// stays.
func sortVariables(vars []string) []string {
	slices.SortStableFunc(vars, func(a, b string) int { return strings.Compare(nameOf(a), nameOf(b)) })
	out := vars[:0]
	for i, v := range vars {
		if i+1 == len(vars) || nameOf(v) != nameOf(vars[i+1]) {
			out = append(out, v)
		}
	}
	return out
}

func hasVariable(vars []string, name string) bool {
	_, found := slices.BinarySearchFunc(vars, name, func(v, name string) int { return strings.Compare(nameOf(v), name) })
	return found
}

func nameOf(v string) string {
	name, _, _ := strings.Cut(v, "=")
	return name
}
