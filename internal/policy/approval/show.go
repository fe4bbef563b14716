package approval

import (
	"fmt"
	"strings"
	"time"

	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/policy"
)

// maxShown bounds in bytes what a person is shown. A longer question is not
// asked at all: a person cannot allow what was not shown.
const maxShown = 16 << 10

// Show writes a question for a person: the whole command, and everything else
// that makes a difference to it. Invisible characters are escaped, so every
// line is what it seems, and no text of a caller can begin a line of its own.
func Show(q policy.Question) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name+":", fmt.Sprintf(format, args...))
	}
	line("Command", "%s", cmdline.Display(q.Argv))
	line("Program", "%s", cmdline.Escape(q.File))
	line("Directory", "%s", cmdline.Escape(q.Dir))
	if len(q.Vars) > 0 {
		line("Variables", "%s", cmdline.Display(q.Vars))
	}
	if len(q.Credentials) > 0 {
		line("Credentials", "%s", cmdline.Escape(strings.Join(q.Credentials, ", ")))
	}
	if q.Stdin != nil {
		line("Input", "%d bytes: %s", len(q.Stdin), cmdline.Display([]string{string(q.Stdin)}))
	}
	if q.Background {
		line("Background", "it goes on after the call, for up to %s, and takes input that is not shown here", q.Timeout.Round(time.Millisecond))
	} else {
		line("Time limit", "%s", q.Timeout.Round(time.Millisecond))
	}
	if q.Terminal {
		line("Terminal", "it gets one")
	}
	line("Asked by", "%s", asker(q))
	if q.Session != "" {
		line("Session", "%s", cmdline.Escape(string(q.Session)))
	}
	line("Why asked", "%s", cmdline.Escape(why(q)))
	return b.String()
}

func asker(q policy.Question) string {
	o := q.Origin
	parts := []string{cmdline.Escape(o.Principal)}
	for _, p := range []struct{ name, value string }{{"client", o.Client}, {"agent", o.Agent}, {"task", o.Task}} {
		if p.value != "" {
			parts = append(parts, p.name+" "+cmdline.Display([]string{p.value}))
		}
	}
	return strings.Join(parts, ", ")
}

func why(q policy.Question) string {
	by := q.Rule
	if q.At != "" {
		by += " at " + q.At
	}
	return strings.TrimSpace(q.Why + " (" + by + ")")
}
