package main

import (
	"cmp"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tipstaff/internal/argv"
	"tipstaff/internal/audit"
	"tipstaff/internal/paths"
	"tipstaff/internal/policy"
	"tipstaff/internal/rules"
	"tipstaff/internal/trailread"
)

func newPolicyDiff() *cobra.Command {
	var o struct {
		filter filterFlags
		trails string
		asJSON bool
	}
	cmd := &cobra.Command{
		Use:   "diff [OLD] NEW",
		Short: "Say which recorded commands two policy files decide differently",
		Long: `Judge the commands of the trail by two policy files, and list those that they decide
differently, each with how often it was asked. Without OLD, NEW is compared with what
was decided then, by whatever decided then.

Judged is what the files say, on no machine: not the allowlists and roots of the
environment, and paths by their text, from the recorded directory. The record holds
commands with their secrets hidden and long arguments cut; commands for which that
may matter are marked. Lines that could not be split into a command are left out.

The exit code is 0 when none is decided differently, 1 when some are.`,
		Example: `  tipstaff policy diff tipstaff.yaml new.yaml --since 30d
  tipstaff policy diff new.yaml --agent reviewer --json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := o.filter.filter(cmd, time.Now())
			if err != nil {
				return err
			}
			c, err := newComparison(args)
			if err != nil {
				return err
			}
			var from []string
			if o.trails != "" {
				from = []string{o.trails}
			}
			r, err := openTrails(cmd, from, f, false)
			if err != nil {
				return err
			}
			tally, err := trailread.Read(cmd.Context(), r.trails, f, c.note)
			if err = r.end(err, tally.Faults); err != nil {
				return err
			}
			if o.asJSON {
				err = writeJSON(cmd.OutOrStdout(), c.result())
			} else {
				c.result().print(cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			if err == nil && len(c.differ) > 0 {
				return &exitError{code: exitFailure}
			}
			return err
		},
	}
	o.filter.add(cmd)
	cmd.Flags().StringVar(&o.trails, "trails", "", "read this trail or directory of `trails` (default: this user's)")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print one JSON object")
	return cmd
}

// comparison judges recorded commands by two policies.
type comparison struct {
	old, new *rules.Policy // old is nil for what was decided then

	asked   int64
	known   map[string]*difference // by command, directory and caller; nil if there is no difference
	differ  map[string]*difference // by command and decisions
	hidden  int64                  // commands with something hidden or cut
	skipped int64                  // commands that are no words
}

// difference is a command that is decided differently.
type difference struct {
	Command []string  `json:"command"`
	Count   int64     `json:"count"`
	Last    time.Time `json:"last"`
	Old     sentence  `json:"old"`
	New     sentence  `json:"new"`
	// Hidden: a secret was hidden, or something was cut, in what was judged.
	Hidden bool `json:"hidden,omitempty"`
}

// sentence is what one policy says.
type sentence struct {
	Effect string `json:"effect"`
	Rule   string `json:"rule"`
	At     string `json:"at,omitempty"`
}

type compared struct {
	Commands int64         `json:"commands"` // that were judged
	Skipped  int64         `json:"skipped"`  // that could not be
	Hidden   int64         `json:"hidden"`   // of which something is hidden
	Differ   []*difference `json:"differ"`   // the most frequent first
}

func newComparison(args []string) (*comparison, error) {
	c := &comparison{known: map[string]*difference{}, differ: map[string]*difference{}}
	for i, arg := range args {
		full, err := filepath.Abs(arg)
		if err != nil {
			return nil, fail(exitConfig, "cannot find the policy file %s: %w", arg, err)
		}
		f, err := readPolicy(full)
		if err != nil {
			return nil, fail(exitConfig, "%s", printable(err.Error()))
		}
		if c.new = f.Policy; i < len(args)-1 {
			c.old = f.Policy
		}
	}
	return c, nil
}

// note judges one record, if it is of a command that was asked.
func (c *comparison) note(l *trailread.Line) error {
	r := &l.Record
	if r.Event != audit.CommandStart && r.Event != audit.CommandRefused {
		return nil
	}
	if len(r.What.Argv) == 0 {
		c.skipped++
		return nil
	}
	c.asked++
	hidden := slices.ContainsFunc(r.What.Argv, func(w string) bool { return strings.Contains(w, "<redacted:") || strings.Contains(w, "…[+") })
	if hidden {
		c.hidden++
	}
	words := slices.Concat(r.What.Argv, []string{"", r.What.Cwd, r.Who.Agent, r.Who.Task, r.Who.Client, r.Who.Principal})
	if c.old == nil {
		words = append(words, r.Decision.Action, r.Decision.Rule)
	}
	key := strings.Join(words, "\x00")
	d, known := c.known[key]
	if !known {
		d = c.compare(r)
		c.known[key] = d
	}
	if d != nil {
		d.Count++
		d.Last, d.Hidden = r.Time, d.Hidden || hidden
	}
	return nil
}

// compare judges a command twice; nil if both say the same.
func (c *comparison) compare(r *audit.Record) *difference {
	before := sentence{cmp.Or(r.Decision.Action, policy.Deny.String()), r.Decision.Rule, r.Decision.At}
	if c.old != nil {
		before = judged(c.old, r)
	}
	after := judged(c.new, r)
	if before.Effect == after.Effect {
		return nil
	}
	key := strings.Join(slices.Concat(r.What.Argv, []string{"", before.Effect, before.Rule, after.Effect, after.Rule}), "\x00")
	d := c.differ[key]
	if d == nil {
		d = &difference{Command: slices.Clone(r.What.Argv), Old: before, New: after}
		c.differ[key] = d
	}
	return d
}

// judged is what a file says of a recorded command.
func judged(file *rules.Policy, r *audit.Record) sentence {
	where := recordedPlace{dir: r.What.Cwd}
	for _, root := range file.File.Roots {
		where.roots = append(where.roots, path.Clean(root.Value))
	}
	if len(where.roots) > 0 && path.IsAbs(where.dir) && !paths.Within(where.dir, where.roots...) {
		return sentence{policy.Deny.String(), "policy/roots", file.File.Roots[0].At.String()}
	}
	words := r.What.Argv
	if base := path.Base(words[0]); base != words[0] && !slices.Contains(file.Names(), words[0]) && slices.Contains(file.Names(), base) {
		words = append([]string{base}, words[1:]...) // a server finds out that it is the same file
	}
	who := rules.Who{Agent: r.Who.Agent, Task: r.Who.Task, Client: r.Who.Client, Principal: r.Who.Principal}
	d := policy.JudgeFile(file, words, who, where)
	f := d.Deciding()
	return sentence{d.Effect.String(), f.Rule, f.At}
}

// recordedPlace answers by the text of a path, from a recorded directory.
type recordedPlace struct {
	dir   string
	roots []string // of the file; none: the directory
}

// Inside is part of [rules.Facts].
func (p recordedPlace) Inside(name string) bool {
	if !path.IsAbs(p.dir) {
		return rules.Lexical().Inside(name)
	}
	if !path.IsAbs(name) {
		name = path.Join(p.dir, name)
	}
	roots := p.roots
	if len(roots) == 0 {
		roots = []string{p.dir}
	}
	return paths.Within(path.Clean(name), roots...)
}

func (c *comparison) result() *compared {
	out := &compared{Commands: c.asked, Skipped: c.skipped, Hidden: c.hidden, Differ: []*difference{}}
	for _, d := range c.differ {
		out.Differ = append(out.Differ, d)
	}
	slices.SortFunc(out.Differ, func(a, b *difference) int {
		if n := cmp.Compare(b.Count, a.Count); n != 0 {
			return n
		}
		return slices.Compare(a.Command, b.Command)
	})
	return out
}

func (c *compared) print(out, talk io.Writer) {
	for _, d := range c.Differ {
		mark := ""
		if d.Hidden {
			mark = "  ! something in it is hidden in the record"
		}
		say(out, "%6d  %s%s", d.Count, argv.Display(d.Command), mark)
		say(out, "        %s", arrow(d.Old, d.New))
	}
	differ := "none is"
	if n := int64(len(c.Differ)); n > 0 {
		differ = plural(n, "is", "are")
	}
	say(talk, "%s judged, %s decided differently.", plural(c.Commands, "recorded command", "recorded commands"), differ)
	if c.Hidden > 0 {
		say(talk, "! In %s something is hidden or cut in the record: rules about it may decide otherwise.", plural(c.Hidden, "command", "commands"))
	}
	if c.Skipped > 0 {
		say(talk, "! %s left out that could not be split into words.", plural(c.Skipped, "was", "were"))
	}
}

func arrow(a, b sentence) string {
	return argv.Escape(a.Effect+" ("+a.Rule+at(a)+")") + " → " + argv.Escape(b.Effect+" ("+b.Rule+at(b)+")")
}

func at(s sentence) string {
	if s.At == "" {
		return ""
	}
	return ", " + s.At
}
