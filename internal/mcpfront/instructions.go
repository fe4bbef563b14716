package mcpfront

import (
	"fmt"
	"strings"
	"time"
)

// Summary is what a client is told of the server before its first call.
type Summary struct {
	Allowed        []string // names that execute_* may run
	AllAllowed     bool
	DefaultTimeout time.Duration
	OutputBytes    int
	Restricted     bool // cwd is confined to roots
	Terminal       bool
	// Rules are those of the policy file, one line for each set of programs;
	// nil without a file. Listed: Allowed narrows them.
	Rules  []string
	Listed bool
}

// maxNames bounds the bytes that the list of names takes in the instructions.
const maxNames = 900

// Instructions tell a model what it can rely on, most important first.
func Instructions(s Summary) string {
	var b strings.Builder
	b.WriteString("tipstaff runs programs for you and records every call.\n")
	if s.Rules != nil {
		b.WriteString("Commands may run as far as the operator's policy says (* is any argument, at the end any further ones):\n")
		b.WriteString(ruleLines(s.Rules))
	}
	switch {
	case s.Rules != nil && (!s.Listed || s.AllAllowed):
	case s.Rules != nil:
		fmt.Fprintf(&b, "Of these, execute_command and execute_process may run: %s.\n", listed(s.Allowed, maxNames))
	case s.AllAllowed:
		b.WriteString("execute_command and execute_process may run any program.\n")
	case len(s.Allowed) == 0:
		b.WriteString("execute_command and execute_process may run nothing yet: the operator has not set ALLOWED_COMMANDS.\n")
	default:
		fmt.Fprintf(&b, "execute_command and execute_process may run: %s.\n", listed(s.Allowed, maxNames))
	}
	if s.Restricted {
		b.WriteString("cwd is confined to the directories that the operator has named.\n")
	}
	b.WriteString("No shell runs, so there are no pipes, redirections, variables or cd: make one call per command and use cwd.\n")
	fmt.Fprintf(&b, "A command gets %d ms unless you ask for another timeout; then it is ended with everything that it started. Nothing keeps running after its command has ended. Output beyond %d bytes is cut in the middle.\n", s.DefaultTimeout.Milliseconds(), s.OutputBytes)
	if s.Terminal {
		b.WriteString("terminal_* tools have an allowlist of their own: create a session, run commands in it, close it.\n")
	}
	b.WriteString("A refusal says which rule stood in the way and what to do instead; do not try to get around it.")
	return b.String()
}

// maxAllowed bounds the bytes that the list of names takes in a tool's description.
const maxAllowed = 200

// Allowed says in one line what may run, for a tool's description. any: every
// program may.
func Allowed(names []string, any bool) string {
	switch {
	case any:
		return "Any program may run here."
	case len(names) == 0:
		return "Nothing may run here yet: the operator has allowed no program."
	default:
		return "May run here: " + listed(names, maxAllowed) + "."
	}
}

// listed joins names as long as there is room, and counts the rest.
func listed(names []string, room int) string {
	var b strings.Builder
	for i, n := range names {
		if b.Len()+len(n) > room {
			return fmt.Sprintf("%s and %d more", strings.TrimSuffix(b.String(), ", "), len(names)-i)
		}
		b.WriteString(n)
		if i < len(names)-1 {
			b.WriteString(", ")
		}
	}
	return b.String()
}

// maxRules bounds the bytes that the rules take in the instructions.
const maxRules = 900

// ruleLines gives rules as long as there is room, and counts the rest.
func ruleLines(rules []string) string {
	var b strings.Builder
	for i, r := range rules {
		if b.Len()+len(r) > maxRules {
			fmt.Fprintf(&b, "- and %d more sets of programs\n", len(rules)-i)
			break
		}
		b.WriteString("- " + r + "\n")
	}
	return b.String()
}
