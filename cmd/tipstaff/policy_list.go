package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tipstaff"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/inspect/explain"
)

func newPolicyList() *cobra.Command {
	var o struct {
		config  configFlag
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
			ev, err := evaluatorHere(&o.config)
			if err != nil {
				return err
			}
			l := ev.explainer().List(family, o.caller.who())
			if o.asJSON {
				return writeJSON(cmd.OutOrStdout(), l)
			}
			printList(cmd.OutOrStdout(), l, o.presets)
			return nil
		},
	}
	o.config.declare(cmd)
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
	say(w, "%s may run, with %s tools, by %s:", cmdline.Escape(who), l.Family, cmdline.Escape(by))
	for _, n := range l.Profiles {
		say(w, "  within the profile %s (%s)", cmdline.Escape(n.Name), cmdline.Escape(n.At))
		printRules(w, "only", n.Only, true)
		printRules(w, "ask", n.Ask, true)
		printRules(w, "deny", n.Deny, true)
	}
	if len(l.Programs) == 0 {
		say(w, "  nothing")
	}
	for _, p := range l.Programs {
		name := cmdline.Escape(p.Program)
		switch {
		case p.Program == "*":
			name = "every other program"
		case p.Missing != "":
			name += "  ✘ " + p.Missing + " where the server looks for programs"
		}
		say(w, "  %s", name)
		printRules(w, "allow", p.Allow, presets)
		printRules(w, "ask", p.Ask, presets)
		printRules(w, "deny", p.Deny, presets)
		if p.Paths != "" {
			say(w, "    paths  %s", p.Paths)
		}
	}
	if len(l.Roots) > 0 {
		say(w, "Within the roots %s.", cmdline.Escape(strings.Join(l.Roots, ", ")))
	}
	if a := l.Allowlist; a != nil && l.Policy.File != "" {
		say(w, "Narrowed by %s.", cmdline.Escape(a.Source))
	}
	if a := l.Allowlist; a != nil && a.Fault != "" {
		say(w, "✘ %s cannot be used: %s", cmdline.Escape(a.Source), cmdline.Escape(a.Fault))
	}
	say(w, "Everything else: %s.", map[string]string{"ask": "needs approval"}[l.Default]+map[string]string{"deny": "denied"}[l.Default])
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
		say(w, "    %-6s %s%s  (%s)", effect, cmdline.Escape(r.Pattern), lends, cmdline.Escape(r.At))
	}
	if more > 0 {
		say(w, "    %-6s %s of presets; --presets lists them", effect, plural(int64(more), "rule", "rules"))
	}
}
