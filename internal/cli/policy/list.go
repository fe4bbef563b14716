package policy

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tipstaff"
	"tipstaff/internal/cli/flags"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/inspect/explain"
	"tipstaff/internal/tty"
)

func newPolicyList() *cobra.Command {
	var o struct {
		config  flags.Config
		caller  callerFlags
		family  string
		presets bool
		asJSON  bool
	}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what a caller may run, as sudo -l does",
		Long: `List what a caller may run by the policy file and the allowlist of the
environment: the forms that are allowed, those that need approval, those that are
denied, with file and line. Profiles that are for the caller narrow the list.

A form is allowed when it matches as a whole and contains nothing that is denied;
'tipstaff policy explain' says what that comes to for one command.`,
		Example: `  tipstaff policy list --agent review-1
  tipstaff policy list --json | jq -r '.programs[].program'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			family, err := familyOf(o.family)
			if err != nil {
				return err
			}
			ev, err := flags.Evaluator(&o.config)
			if err != nil {
				return err
			}
			l := ev.Explainer().List(family, o.caller.who())
			if o.asJSON {
				return tty.WriteJSON(cmd.OutOrStdout(), l)
			}
			printList(cmd.OutOrStdout(), l, o.presets)
			return nil
		},
	}
	o.config.Declare(cmd)
	o.caller.declare(cmd)
	cmd.Flags().StringVar(&o.family, "family", string(tipstaff.Execute), "by the tools of this `family`: execute or terminal")
	cmd.Flags().BoolVar(&o.presets, "presets", false, "list the rules of presets, too")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print one JSON object, with the rules of presets")
	return cmd
}

// printList prints a list for a person.
func printList(w io.Writer, l *explain.List, presets bool) {
	who := strings.TrimSpace(fmt.Sprintf("%s %s", cmp.Or(l.Who.Agent, l.Who.Principal), l.Who.Client))
	by := cmp.Or(l.Policy.File, "the allowlist alone")
	tty.Say(w, "%s may run, with %s tools, by %s:", cmdline.Escape(who), l.Family, cmdline.Escape(by))
	for _, n := range l.Profiles {
		tty.Say(w, "  within the profile %s (%s)", cmdline.Escape(n.Name), cmdline.Escape(n.At))
		printRules(w, "only", n.Only, true)
		printRules(w, "ask", n.Ask, true)
		printRules(w, "deny", n.Deny, true)
	}
	if len(l.Programs) == 0 {
		tty.Say(w, "  nothing")
	}
	for _, p := range l.Programs {
		name := cmdline.Escape(p.Program)
		switch {
		case p.Program == "*":
			name = "every other program"
		case p.Missing != "":
			name += "  ✘ " + p.Missing + " where the server looks for programs"
		}
		tty.Say(w, "  %s", name)
		printRules(w, "allow", p.Allow, presets)
		printRules(w, "ask", p.Ask, presets)
		printRules(w, "deny", p.Deny, presets)
		if p.Paths != "" {
			tty.Say(w, "    paths  %s", p.Paths)
		}
	}
	if len(l.Roots) > 0 {
		tty.Say(w, "Within the roots %s.", cmdline.Escape(strings.Join(l.Roots, ", ")))
	}
	if a := l.Allowlist; a != nil && l.Policy.File != "" {
		tty.Say(w, "Narrowed by %s.", cmdline.Escape(a.Source))
	}
	if a := l.Allowlist; a != nil && a.Fault != "" {
		tty.Say(w, "✘ %s cannot be used: %s", cmdline.Escape(a.Source), cmdline.Escape(a.Fault))
	}
	tty.Say(w, "Everything else: %s.", map[string]string{"ask": "needs approval", "deny": "denied", "inside": "runs inside of the sandbox"}[l.Default])
}

// printRules prints rules, with those of presets only if asked.
func printRules(w io.Writer, effect string, list []explain.Rule, presets bool) {
	more := 0
	for _, r := range list {
		if strings.HasPrefix(r.At, "preset:") && !presets {
			more++
			continue
		}
		lends := ""
		if len(r.Lends) > 0 {
			lends = "  lends " + cmdline.Escape(strings.Join(r.Lends, ", "))
		}
		tty.Say(w, "    %-6s %s%s  (%s)", effect, cmdline.Escape(r.Pattern), lends, cmdline.Escape(r.At))
	}
	if more > 0 {
		tty.Say(w, "    %-6s %s of presets; --presets lists them", effect, tty.Plural(int64(more), "rule", "rules"))
	}
}
