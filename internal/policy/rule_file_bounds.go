package policy

import (
	"strings"

	"tipstaff"
	"tipstaff/internal/policy/language"
)

// narrowEnvironment removes the variables that the policy file does not leave
// to a command. PATH and what the server itself adds are kept.
type narrowEnvironment struct{}

// Judge implements [Rule]. It removes variables by the bounds of the file, but
// neither PATH nor what the server sets for every command. Of the removed ones
// only the caller's are reported: it has not asked for the others.
func (narrowEnvironment) Judge(req *tipstaff.Request, _ World, d *Draft) []Finding {
	b := &d.Bounds
	if len(b.EnvOnly) == 0 && len(b.EnvDrop) == 0 || d.Env == nil {
		return nil
	}
	fixed := map[string]bool{"PATH": true}
	for _, kv := range req.Fixed {
		fixed[variableName(kv)] = true
	}
	asked := map[string]bool{}
	for _, kv := range req.Env {
		asked[variableName(kv)] = true
	}
	env := make([]string, 0, len(d.Env))
	for _, kv := range d.Env {
		name := variableName(kv)
		switch {
		case fixed[name] || b.Keeps(name):
			env = append(env, kv)
		case asked[name]:
			d.Dropped = append(d.Dropped, name)
		}
	}
	d.Env = env
	return nil
}

func variableName(kv string) string {
	name, _, _ := strings.Cut(kv, "=")
	return name
}

// limitsOf returns the time limits for a request, after a policy file.
func limitsOf(req *tipstaff.Request, l FamilyLimits, b language.Bounds) FamilyLimits {
	if !req.Background {
		return narrowTimeout(l, b)
	}
	l.MaxTimeout = LongestLife
	if b.BackgroundTime > 0 {
		l.MaxTimeout = min(l.MaxTimeout, b.BackgroundTime)
	}
	l.DefaultTimeout = l.MaxTimeout
	return l
}

// narrowTimeout applies the policy file's time limits to those of a family. Its
// timeout replaces the family's default; ceilings can only become lower.
func narrowTimeout(l FamilyLimits, b language.Bounds) FamilyLimits {
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
