package policy

import (
	"slices"

	"tipstaff"
)

// environment gives a command its variables (contract B11). It comes after the
// rule of the directory, whose path it passes on as PWD.
type environment struct {
	vars  *Environment
	ruled bool // by a policy file, beside the allowlist
}

// Judge implements [Rule]: it builds the whole environment of the command.
// Variables that are not accepted are dropped and reported; only a malformed
// list is refused.
func (r environment) Judge(req *tipstaff.Request, w World, d *Draft) []Finding {
	if r.vars == nil {
		return []Finding{{Rule: "environment", Code: tipstaff.Internal, Msg: "no environment is configured for commands", Hint: "This is a fault of the server; tell the operator."}}
	}
	pass := d.Bounds.Passes
	accepted, dropped, err := r.vars.Admit(req.Env, Admission{World: w, Dir: d.Dir, Roots: d.Roots, Pass: pass})
	if err != nil {
		e := tipstaff.AsError(err)
		return []Finding{{Rule: "environment", Code: e.Code, Msg: e.Msg, Hint: e.Hint, Details: e.Details}}
	}
	dir := ""
	if d.Dir != nil {
		dir = d.Dir.Path()
	}
	d.Dropped = droppedNames(dropped)
	d.Env = without(r.vars.complete(accepted, req.Fixed, dir, pass, r.modeOf(req, d)), req)
	return nil
}

// modeOf says whether a command has a terminal, and whether an editor in it could
// start anything that the policy does not allow anyway.
func (r environment) modeOf(req *tipstaff.Request, d *Draft) mode {
	switch {
	case req.Terminal == nil:
		return alone
	case d.Allowlist.Any && !r.ruled:
		return editing
	}
	return atTerminal
}

// without removes the variables that a script has taken away from its command. PATH
// stays, and what the caller cannot override.
func without(env []string, req *tipstaff.Request) []string {
	if len(req.Unset) == 0 {
		return env
	}
	return slices.DeleteFunc(env, func(v string) bool {
		name := nameOf(v)
		fixed := slices.ContainsFunc(req.Fixed, func(kv string) bool { return nameOf(kv) == name })
		return name != "PATH" && !fixed && slices.Contains(req.Unset, name)
	})
}
