package policy

import (
	"slices"

	"tipstaff"
	"tipstaff/internal/policy/language"
)

// narrowEnvironment removes the variables that the policy file does not leave
// to a command. PATH and what the server itself adds are kept.
type narrowEnvironment struct{}

// Judge implements [Rule]. It removes variables by the bounds of the file, but
// neither PATH nor what the server sets for every command. What the caller gives to this
// very command is refused instead; what its session holds is reported.
func (narrowEnvironment) Judge(req *tipstaff.Request, _ World, d *Draft) (found []Finding) {
	b := &d.Bounds
	if len(b.EnvOnly) == 0 && len(b.EnvDrop) == 0 || d.Env == nil {
		return nil
	}
	fixed := map[string]bool{"PATH": true}
	for _, kv := range req.Fixed {
		fixed[nameOf(kv)] = true
	}
	env := make([]string, 0, len(d.Env))
	for _, kv := range d.Env {
		name := nameOf(kv)
		switch {
		case fixed[name] || b.Keeps(name):
			env = append(env, kv)
		case slices.Contains(req.OfSession, kv):
			d.Dropped = append(d.Dropped, name)
		case slices.Contains(req.Env, kv) && len(found) < maxFindings:
			found = append(found, refusedVariable(name, "the policy keeps it from this program", d))
		}
	}
	d.Env = env
	return found
}

// limitsOf returns the time limits for a request, after a policy file.
func limitsOf(req *tipstaff.Request, l FamilyLimits, b language.Bounds) FamilyLimits {
	if !req.Background {
		return l.Under(b)
	}
	l.MaxTimeout = LongestLife
	if b.BackgroundTime > 0 {
		l.MaxTimeout = min(l.MaxTimeout, b.BackgroundTime)
	}
	l.DefaultTimeout = l.MaxTimeout
	return l
}

// Under applies the bounds of a policy file to the limits of a family. The file's timeout
// replaces the family's default; ceilings can only become lower.
func (l FamilyLimits) Under(b language.Bounds) FamilyLimits {
	if b.MaxTimeout > 0 && (l.MaxTimeout == 0 || b.MaxTimeout < l.MaxTimeout) {
		l.MaxTimeout = b.MaxTimeout
	}
	if b.Timeout > 0 && l.DefaultTimeout > 0 {
		l.DefaultTimeout = b.Timeout
	}
	if l.MaxTimeout > 0 {
		l.DefaultTimeout = min(l.DefaultTimeout, l.MaxTimeout)
	}
	return l
}

// narrowOutput bounds what is kept of a command's output.
func narrowOutput(bytes int, b language.Bounds) int {
	if b.Output > 0 {
		return int(min(int64(bytes), b.Output))
	}
	return bytes
}
