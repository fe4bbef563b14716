package mcpserver

import (
	"fmt"
	"slices"
	"strings"

	"tipstaff"
)

// commands adds the commands of a script that failed or were refused (contract S5).
// If the script has succeeded, they are of interest only when one was not run.
func (m *mapping) commands(r *tipstaff.Result) {
	notRun := slices.ContainsFunc(r.Commands, func(c tipstaff.ScriptCommand) bool { return c.Msg != "" })
	if len(r.Commands) == 0 || r.ExitCode == 0 && !notRun {
		return
	}
	m.b.WriteString("commands:\n")
	for i := range r.Commands {
		m.item(scriptCommand(&r.Commands[i]))
	}
	if r.Further > 0 {
		m.integer("further_commands", r.Further)
	}
}

// item adds a mapping without blocks to the sequence that was begun last.
func (m *mapping) item(one *mapping) {
	lines := strings.TrimSuffix(one.encode(), "\n")
	m.b.WriteString("  - " + strings.ReplaceAll(lines, "\n", "\n    ") + "\n")
}

// scriptCommand shows one command: each value in a line of its own.
func scriptCommand(c *tipstaff.ScriptCommand) *mapping {
	one := &mapping{}
	if c.Line > 0 {
		one.integer("line", c.Line)
	}
	one.b.WriteString("words: [")
	for i, w := range c.Words {
		if i > 0 {
			one.b.WriteString(", ")
		}
		one.b.WriteString(oneLine(w))
	}
	one.b.WriteString("]\n")
	one.integer("exit_code", c.ExitCode)
	switch {
	case c.Rule != "":
		one.quoted("refused", fmt.Sprintf("%s (%s)", c.Msg, c.Rule))
	case c.Msg != "":
		one.quoted("error", c.Msg)
	}
	return one
}
