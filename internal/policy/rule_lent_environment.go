package policy

import (
	"slices"

	"tipstaff"
	"tipstaff/internal/policy/language"
)

// lentEnvironment gives a command the variables of the server that its rule
// passes on and that are hidden from every other command. The server's value
// takes precedence over the caller's. A variable that the server does not have
// is not set for the command either.
type lentEnvironment struct{ vars *Environment }

// Judge implements [Rule]. A caller's variable of the same name is reported as
// dropped: the command gets the server's value in its place.
func (r lentEnvironment) Judge(req *tipstaff.Request, _ World, d *Draft) []Finding {
	names, lent := d.Credentials.Of(language.VariableCredential)
	if !lent || d.Env == nil || r.vars == nil {
		return nil
	}
	env := slices.Clone(d.Env)
	for _, name := range names {
		at := slices.IndexFunc(r.vars.withheld, func(kv string) bool { return nameOf(kv) == name }) // the first counts: getenv(3)
		if at < 0 {
			continue
		}
		for _, kv := range req.Env {
			if nameOf(kv) == name && !slices.Contains(d.Dropped, name) {
				d.Dropped = append(d.Dropped, name)
			}
		}
		env = append(env, r.vars.withheld[at])
	}
	d.Env = sortVariables(env)
	return nil
}
