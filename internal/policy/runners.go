package policy

import (
	_ "embed"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed builtin/runners.txt
var runnersText string

// runners are the programs that execute what they are given or what they find
// in the workspace.
var runners = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for line := range strings.Lines(runnersText) {
		line, _, _ = strings.Cut(line, "#")
		for name := range strings.FieldsSeq(line) {
			names[name] = true
		}
	}
	return names
})

// Runners names those programs of a list for which the list is no boundary:
// interpreters, build tools, package managers and wrappers run whatever the
// workspace holds. "*" stands for itself.
func Runners(a Allowlist) []string {
	var out []string
	if a.Any {
		out = append(out, "*")
	}
	for _, name := range a.Names {
		if runners()[plainName(name)] {
			out = append(out, name)
		}
	}
	return slices.Compact(out)
}

// plainName takes the path and the version off: /usr/bin/python3.11 is python.
func plainName(name string) string {
	base := path.Base(name)
	if trimmed := strings.TrimRight(base, "0123456789.-"); trimmed != "" {
		return trimmed
	}
	return base
}
