package policy

import (
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"tipstaff/internal/audit/query"
	"tipstaff/internal/cli/trails"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/exit"
	"tipstaff/internal/inspect/policydiff"
	"tipstaff/internal/policy/language"
	"tipstaff/internal/policy/load"
	"tipstaff/internal/tty"
)

func newPolicyDiff() *cobra.Command {
	var o struct {
		filter trails.FilterFlags
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
			f, err := o.filter.Filter(cmd, time.Now())
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
			r, err := trails.Open(cmd, from, trails.EngineFlag{}, f, false)
			if err != nil {
				return err
			}
			tally, err := query.Read(cmd.Context(), r.Trails, f, c.Note)
			if err = r.End(err, tally.Faults); err != nil {
				return err
			}
			compared := c.Result()
			if o.asJSON {
				err = tty.WriteJSON(cmd.OutOrStdout(), compared)
			} else {
				printComparison(cmd.OutOrStdout(), cmd.ErrOrStderr(), compared)
			}
			if err == nil && len(compared.Differ) > 0 {
				return &exit.Error{Code: exit.Failure}
			}
			return err
		},
	}
	o.filter.Add(cmd)
	cmd.Flags().StringVar(&o.trails, "trails", "", "read this trail or directory of `trails` (default: this user's)")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print one JSON object")
	return cmd
}

// newComparison reads the policy files of a command line.
func newComparison(args []string) (*policydiff.Comparison, error) {
	var old, new *language.Policy
	for i, arg := range args {
		full, err := filepath.Abs(arg)
		if err != nil {
			return nil, exit.Errorf(exit.Config, "cannot find the policy file %s: %w", arg, err)
		}
		f, err := load.Read(full)
		if err != nil {
			return nil, exit.Errorf(exit.Config, "%s", cmdline.EscapeLines(err.Error()))
		}
		if new = f.Policy; i < len(args)-1 {
			old = f.Policy
		}
	}
	return policydiff.New(old, new), nil
}

// printComparison prints the differences to out, and notes about their
// reliability to talk.
func printComparison(out, talk io.Writer, c *policydiff.Result) {
	for _, d := range c.Differ {
		mark := ""
		if d.Hidden {
			mark = "  ! something in it is hidden in the record"
		}
		tty.Say(out, "%6d  %s%s", d.Count, cmdline.Display(d.Command), mark)
		tty.Say(out, "        %s", arrow(d.Old, d.New))
	}
	differ := "none is"
	if n := int64(len(c.Differ)); n > 0 {
		differ = tty.Plural(n, "is", "are")
	}
	tty.Say(talk, "%s judged, %s decided differently.", tty.Plural(c.Commands, "recorded command", "recorded commands"), differ)
	if c.Hidden > 0 {
		tty.Say(talk, "! In %s something is hidden or cut in the record: rules about it may decide otherwise.", tty.Plural(c.Hidden, "command", "commands"))
	}
	if c.Skipped > 0 {
		tty.Say(talk, "! %s left out that could not be split into words.", tty.Plural(c.Skipped, "was", "were"))
	}
}

func arrow(a, b policydiff.Decision) string {
	return cmdline.Escape(a.Effect+" ("+a.Rule+at(a)+")") + " → " + cmdline.Escape(b.Effect+" ("+b.Rule+at(b)+")")
}

func at(s policydiff.Decision) string {
	if s.At == "" {
		return ""
	}
	return ", " + s.At
}
