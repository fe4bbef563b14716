package policy

import (
	"fmt"
	"io"

	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/inspect/explain"
	"tipstaff/internal/policy"
	"tipstaff/internal/tty"
)

// printScript prints the explanation of a script for a person.
func printScript(w io.Writer, s tty.Screen, e *explain.Script) {
	m := effectMarks[e.Effect]
	from := ""
	if e.ModeFrom != "" {
		from = ", by " + cmdline.Escape(e.ModeFrom)
	}
	words := map[string]string{policy.Allow.String(): "the script may begin", policy.Ask.String(): "the script needs approval before it begins", policy.Deny.String(): "the script is refused, and nothing of it runs"}
	tty.Say(w, "%s (shell: %s%s)", s.Paint(m.color, m.mark+" "+words[e.Effect]), e.Mode, from)
	if e.Effect == policy.Deny.String() {
		printFinding(w, &e.Decides, true)
		for i := range e.Others {
			printFinding(w, &e.Others[i], false)
		}
	}
	for i := range e.Commands {
		if i == 0 {
			tty.Say(w, "\nIts commands:")
		}
		printScriptCommand(w, s, &e.Commands[i])
	}
	printWrites(w, "opens", e.Writes)
	if e.Later {
		tty.Say(w, "! What becomes of a command here is known only when it runs, so this is no promise (exit code 8).")
	}
	for _, note := range e.Notes {
		tty.Say(w, "! %s", note)
	}
}

func printScriptCommand(w io.Writer, s tty.Screen, c *explain.Command) {
	mark, color, word := "·", tty.Bold, c.Kind
	if m, judged := effectMarks[c.Effect]; judged {
		mark, color, word = m.mark, m.color, m.word
	}
	tty.Say(w, "%s", s.Paint(color, mark+" "+word)+": "+place(c.Line, c.Column)+" "+c.Command)
	if c.Decides != nil {
		printFinding(w, c.Decides, true)
	}
	printWrites(w, "writes", c.Writes)
	if c.Later != "" {
		fact(w, "later", "known only when it runs: %s", cmdline.Escape(c.Later))
	}
}

func place(line, column int) string { return fmt.Sprintf("%d:%d", line, column) }

func printWrites(w io.Writer, title string, list []explain.Write) {
	for _, f := range list {
		fact(w, title, "%s %s", place(f.Line, f.Column), cmdline.Escape(f.Path))
	}
}
