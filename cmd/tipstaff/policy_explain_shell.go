package main

import (
	"fmt"
	"io"
	"strings"

	"tipstaff"
	"tipstaff/internal/argv"
	"tipstaff/internal/policy"
	"tipstaff/internal/shell"
)

// scriptExplanation is everything about a script that is known before it runs.
type scriptExplanation struct {
	Script  string `json:"script"`
	Effect  string `json:"effect"` // of the script: whether it may begin, and whether a person is asked before
	Decides found  `json:"decides"`
	// Others are the further findings that refuse the script.
	Others   []found            `json:"others"`
	Mode     string             `json:"shell"` // off, read, write
	ModeFrom string             `json:"shell_from,omitempty"`
	Commands []explainedCommand `json:"commands"`
	Writes   []explainedWrite   `json:"writes,omitempty"` // by redirections of compound commands
	Family   string             `json:"family"`
	Who      asker              `json:"who"`
	Policy   explainedPolicy    `json:"policy"`
	Notes    []string           `json:"notes,omitempty"`
}

// explainedCommand is one command of a script.
type explainedCommand struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Kind    string `json:"kind"` // program, builtin, function, unknown
	Command string `json:"command"`
	// Words are what the program gets; null if that is known only when it runs.
	Words   []string         `json:"words"`
	Certain bool             `json:"certain"` // it is certain to run
	Effect  string           `json:"effect,omitempty"`
	Decides *found           `json:"decides,omitempty"`
	Later   string           `json:"known_when_it_runs,omitempty"`
	Writes  []explainedWrite `json:"writes,omitempty"`
}

// explainedWrite is a file that a redirection opens for writing.
type explainedWrite struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Path   string `json:"path"`  // as it is written, if it is not known
	Known  bool   `json:"known"` // before it runs
}

// explainScript decides about a script without running it.
func (ev *evaluator) explainScript(req tipstaff.Request) (*scriptExplanation, policy.Effect) {
	s := ev.monitor().Current().Survey(req, ev.host)
	effect := s.Script.Effect
	if effect == policy.Allow && len(s.Script.Asked) > 0 {
		effect = policy.Ask
	}
	e := &scriptExplanation{
		Script: req.Script, Effect: effect.String(), Others: []found{}, Commands: []explainedCommand{},
		Mode: s.Shell.Mode.String(), ModeFrom: s.Shell.From, Writes: explainedWrites(s.Writes), Family: string(req.Family),
		Who:    asker{req.Origin.Agent, req.Origin.Task, req.Origin.Client, req.Origin.Principal},
		Policy: explainedPolicy{DecisionSHA256: s.Script.Digest},
	}
	e.Decides = ev.found(s.Script.Deciding())
	for i, f := range s.Script.Findings {
		if i > 0 {
			e.Others = append(e.Others, ev.found(f))
		}
	}
	for i := range s.Commands {
		e.Commands = append(e.Commands, ev.explainCommand(&s.Commands[i]))
	}
	if f := ev.file; f.Policy != nil {
		e.Policy.File, e.Policy.SHA256 = f.Path, f.Digest
	}
	e.Notes = append(e.Notes, "Each command is decided again when the script comes to it, with its words, directory and variables as they are then.")
	if ev.asksDecider() {
		e.Notes = append(e.Notes, "A decider is asked as well about each command when it runs, and it can only narrow.")
	}
	return e, effect
}

func (ev *evaluator) explainCommand(c *policy.Surveyed) explainedCommand {
	out := explainedCommand{
		Line: c.Line, Column: c.Column, Kind: c.Kind.String(), Command: written(c.Words), Certain: c.Certain,
		Later: c.Later, Writes: explainedWrites(c.Writes),
	}
	out.Words, _ = c.Literal()
	if c.Decision == nil {
		return out
	}
	f := ev.found(c.Decision.Deciding())
	if len(c.Decision.Findings) == 0 {
		f = found{Effect: policy.Allow.String(), Rule: "allowlist", At: ev.host.Allowlist(tipstaff.Execute).Source, Message: "nothing stands against it"}
	}
	out.Effect, out.Decides = c.Decision.Effect.String(), &f
	return out
}

func explainedWrites(list []shell.Write) []explainedWrite {
	var out []explainedWrite
	for _, w := range list {
		out = append(out, explainedWrite{w.Line, w.Column, w.Path.Text, w.Path.Known})
	}
	return out
}

// written shows a command with the words that are known quoted, and the others
// as they stand in the script.
func written(words []shell.Word) string {
	var out []string
	for _, w := range words {
		if w.Known {
			out = append(out, argv.Display([]string{w.Text}))
		} else {
			out = append(out, argv.Escape(w.Text))
		}
	}
	return strings.Join(out, " ")
}

// print prints the explanation of a script for a person.
func (e *scriptExplanation) print(w io.Writer, s screen) {
	m := effectMarks[e.Effect]
	from := ""
	if e.ModeFrom != "" {
		from = ", by " + argv.Escape(e.ModeFrom)
	}
	words := map[string]string{policy.Allow.String(): "the script may begin", policy.Ask.String(): "the script needs approval before it begins", policy.Deny.String(): "the script is refused, and nothing of it runs"}
	say(w, "%s (shell: %s%s)", s.paint(m.color, m.mark+" "+words[e.Effect]), e.Mode, from)
	if e.Effect == policy.Deny.String() {
		e.Decides.print(w, true)
		for i := range e.Others {
			e.Others[i].print(w, false)
		}
	}
	for i := range e.Commands {
		if i == 0 {
			say(w, "\nIts commands:")
		}
		e.Commands[i].print(w, s)
	}
	printWrites(w, "opens", e.Writes)
	for _, note := range e.Notes {
		say(w, "! %s", note)
	}
}

func (c *explainedCommand) print(w io.Writer, s screen) {
	mark, color, word := "·", bold, c.Kind
	if m, judged := effectMarks[c.Effect]; judged {
		mark, color, word = m.mark, m.color, m.word
	}
	say(w, "%s", s.paint(color, mark+" "+word)+": "+place(c.Line, c.Column)+" "+c.Command)
	if c.Decides != nil {
		c.Decides.print(w, true)
	}
	printWrites(w, "writes", c.Writes)
	if c.Later != "" {
		fact(w, "later", "known only when it runs: %s", argv.Escape(c.Later))
	}
}

func place(line, column int) string { return fmt.Sprintf("%d:%d", line, column) }

func printWrites(w io.Writer, title string, list []explainedWrite) {
	for _, f := range list {
		fact(w, title, "%s %s", place(f.Line, f.Column), argv.Escape(f.Path))
	}
}
