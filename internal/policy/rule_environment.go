package policy

import (
	"path"
	"slices"
	"strings"

	"tipstaff"
	"tipstaff/internal/policy/language"
)

// environment gives a command its variables (contract B11). It comes after the
// rule of the directory, whose path it passes on as PWD.
type environment struct {
	vars *Environment
	file *language.Policy // nil: only the allowlist says what may run
	// some reports, for a script, which names the file passes on to some command: the
	// script may hold them, and each of its commands is judged.
	some func(name string) bool
}

// Judge implements [Rule]: it builds the whole environment of the command. What a
// caller gives to this command passes, or the command is refused: a command that runs
// with another value than the one it was given does something that nobody asked for.
// What a session holds is dropped where it may not pass, and reported.
func (r environment) Judge(req *tipstaff.Request, w World, d *Draft) []Finding {
	if r.vars == nil {
		return []Finding{{Rule: "environment", Code: tipstaff.Internal, Msg: "no environment is configured for commands", Hint: "This is a fault of the server; tell the operator."}}
	}
	if err := checkVariables(req.Env); err != nil {
		e := tipstaff.AsError(err)
		return []Finding{{Rule: "environment", Code: e.Code, Msg: e.Msg, Hint: e.Hint, Details: e.Details}}
	}
	pass := d.Bounds.Passes
	given := make([]string, 0, len(req.Env))
	var found []Finding
	for _, kv := range req.Env {
		name, value, _ := strings.Cut(kv, "=")
		ofSession := slices.Contains(req.OfSession, kv)
		why := ""
		switch {
		case pass(name) || r.some != nil && r.some(name):
		case ofSession:
			why = sessionFault(name, value)
		case !r.vars.has(kv): // else nothing changes
			why = r.refused(name, req, w, d)
		}
		switch {
		case why == "":
			given = append(given, kv)
		case !ofSession && len(found) < maxFindings:
			found = append(found, refusedVariable(name, why, d))
		case ofSession && !slices.Contains(d.Dropped, name):
			d.Dropped = append(d.Dropped, name)
		}
	}
	dir := ""
	if d.Dir != nil {
		dir = d.Dir.Path()
	}
	d.Env = without(r.vars.complete(given, req.Fixed, dir, pass, r.modeOf(req, d)), req)
	return found
}

// refused says why a command does not run with a variable that it was given, "" if it
// does. Where every program may run, no variable leads to code that could not be started
// anyway; nor inside of the sandbox, unless the command is lent something.
func (r environment) refused(name string, req *tipstaff.Request, w World, d *Draft) string {
	if slices.ContainsFunc(req.Fixed, func(kv string) bool { return nameOf(kv) == name }) {
		return "the server sets it itself"
	}
	if function, is := exportedFunction(name); is && addsCommand(function, w) {
		return ""
	}
	rule, _ := environmentRules().named(name, ofCaller)
	switch {
	case language.PassFault(name) != "":
	case r.file != nil && r.file.Inside() && len(d.Credentials) == 0, r.file == nil && d.Allowlist.Any && !rule.ambient:
		return ""
	}
	return assignmentFault(name)
}

// exportedFunction returns the name of the function that a variable of Bash holds.
func exportedFunction(name string) (function string, is bool) {
	if function, is = strings.CutPrefix(name, "BASH_FUNC_"); is {
		function, is = strings.CutSuffix(function, "%%")
	}
	return function, is
}

// addsCommand reports whether a function only adds a command to a shell. One with the
// name of a program or of a command of the shell would run in its place.
func addsCommand(function string, w World) bool {
	if function == "" || strings.ContainsFunc(function, func(c rune) bool { return c > '~' || !isName(byte(c)) && c != '-' }) {
		return false
	}
	_, err := w.Lookup(function)
	return err != nil && commandKind(function) == notCommand
}

// refusedVariable refuses a command because of a variable that it was given.
func refusedVariable(name, why string, d *Draft) Finding {
	to := "the command"
	if len(d.Argv) > 0 {
		to = quoted(path.Base(d.Argv[0]))
	}
	return Finding{
		Rule: "environment", Code: tipstaff.UnsafeArguments,
		Msg:     "the variable " + quoted(name) + " is not passed to " + to + ": " + why,
		Hint:    "Leave it out" + passHint("; if the task needs it", name) + ".",
		Details: map[string]any{"variable": shown(name), "rule": "environment"},
	}
}

// modeOf says whether a command has a terminal, and whether an editor in it could
// start anything that the policy does not allow anyway.
func (r environment) modeOf(req *tipstaff.Request, d *Draft) mode {
	switch {
	case req.Terminal == nil:
		return alone
	case d.Allowlist.Any && r.file == nil:
		return editing
	}
	return atTerminal
}

// without removes the variables that a script has taken away from its command, but not
// what the caller cannot override.
func without(env []string, req *tipstaff.Request) []string {
	if len(req.Unset) == 0 {
		return env
	}
	return slices.DeleteFunc(env, func(v string) bool {
		name := nameOf(v)
		fixed := slices.ContainsFunc(req.Fixed, func(kv string) bool { return nameOf(kv) == name })
		return !fixed && slices.Contains(req.Unset, name)
	})
}
