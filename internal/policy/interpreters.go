package policy

import (
	"slices"

	"tipstaff/internal/programs"
)

// Interpreters names those programs of a list for which the list is no boundary:
// interpreters, build tools, package managers and wrappers run whatever the
// workspace holds. "*" stands for itself.
func Interpreters(a Allowlist) []string {
	var out []string
	if a.Any {
		out = append(out, "*")
	}
	for _, name := range a.Names {
		if programs.Interpreter(name) {
			out = append(out, name)
		}
	}
	return slices.Compact(out)
}
