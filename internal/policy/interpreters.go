package policy

import (
	"slices"

	"tipstaff/internal/command/programs"
)

// Interpreters returns those programs of a list that make it no boundary:
// interpreters, build tools, package managers and wrappers can run anything in
// the workspace. "*" stands for itself.
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

// WarmUp reads the tables of programs, which takes about two milliseconds. A server that
// starts calls it concurrently with other work; otherwise the first decision pays for
// it. WarmUp may be called at any time.
func WarmUp() { programs.Find("") }
