package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tipstaff"
	"tipstaff/internal/argv"
	"tipstaff/internal/policy"
	"tipstaff/internal/rules"
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
			l := ev.list(family, o.caller.who())
			if o.asJSON {
				return writeJSON(cmd.OutOrStdout(), l)
			}
			l.print(cmd.OutOrStdout(), o.presets)
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

// listing is what a caller may run.
type listing struct {
	Who      asker           `json:"who"`
	Family   string          `json:"family"`
	Policy   explainedPolicy `json:"policy"`
	Default  string          `json:"default"` // the decision for everything else
	Roots    []string        `json:"roots,omitempty"`
	Profiles []listedProfile `json:"profiles"`
	// Allowlist is the setting that limits what may run; nil without one.
	Allowlist *listedAllowlist `json:"allowlist,omitempty"`
	Programs  []listedProgram  `json:"programs"`
}

type listedProfile struct {
	Name string     `json:"name"`
	At   string     `json:"at"`
	Only []ruleText `json:"only,omitempty"`
	Ask  []ruleText `json:"ask,omitempty"`
	Deny []ruleText `json:"deny,omitempty"`
}

type listedAllowlist struct {
	Source string   `json:"source"`
	Names  []string `json:"names"`
	Any    bool     `json:"any,omitempty"`
	Fault  string   `json:"fault,omitempty"`
}

type listedProgram struct {
	Program string `json:"program"` // * means every other program
	File    string `json:"file,omitempty"`
	// Missing says why it cannot run although it is allowed.
	Missing string     `json:"missing,omitempty"`
	Paths   string     `json:"paths,omitempty"`
	Allow   []ruleText `json:"allow"`
	Ask     []ruleText `json:"ask,omitempty"`
	Deny    []ruleText `json:"deny,omitempty"`
}

// list returns what a caller may run.
func (ev *evaluator) list(family tipstaff.Family, who rules.Who) *listing {
	l := &listing{
		Who: asker{who.Agent, who.Task, who.Client, who.Principal}, Family: string(family), Default: policy.Deny.String(),
		Profiles: []listedProfile{}, Programs: []listedProgram{},
	}
	allowed := ev.host.Allowlist(family)
	l.Roots, _ = ev.host.Roots() // an error here refuses commands; doctor reports it
	if ev.file.Policy == nil || !allowed.Absent {
		l.Allowlist = &listedAllowlist{allowed.Source, append([]string{}, allowed.Names...), allowed.Any && allowed.Fault == "", allowed.Fault}
	}
	if ev.file.Policy == nil {
		l.fromAllowlist(ev)
		return l
	}
	l.Policy = explainedPolicy{File: ev.file.Path, SHA256: ev.file.Digest}
	l.Default = cmp.Or(ev.file.File.Default.Value, l.Default)
	for _, r := range ev.file.File.Roots {
		l.Roots = append(l.Roots, r.Value)
	}
	narrow := ev.file.Narrowings(who)
	for _, n := range narrow {
		l.Profiles = append(l.Profiles, listedProfile{n.Name, n.At.String(), ruleTexts(n.Only), ruleTexts(n.Ask), ruleTexts(n.Deny)})
	}
	for _, e := range ev.file.List() {
		out := func(n rules.Narrowing) bool { return !n.Reaches(e.Program) }
		if e.Program != "*" && (!l.lists(e.Program) || slices.ContainsFunc(narrow, out)) || len(e.Allow)+len(e.Ask) == 0 && l.Default == policy.Deny.String() {
			continue
		}
		p := listedProgram{Program: e.Program, Paths: e.Paths, Allow: ruleTexts(e.Allow), Ask: ruleTexts(e.Ask), Deny: ruleTexts(e.Deny)}
		p.find(ev)
		l.Programs = append(l.Programs, p)
	}
	return l
}

// lists reports whether the allowlist has a program.
func (l *listing) lists(program string) bool {
	a := l.Allowlist
	return a == nil || a.Any || a.Fault == "" && slices.Contains(a.Names, program)
}

func (l *listing) fromAllowlist(ev *evaluator) {
	any := []ruleText{{Pattern: "*", Rule: "allowlist", At: l.Allowlist.Source}}
	if l.Allowlist.Fault != "" {
		return
	}
	for _, name := range l.Allowlist.Names {
		p := listedProgram{Program: name, Allow: any}
		p.find(ev)
		l.Programs = append(l.Programs, p)
	}
	if l.Allowlist.Any {
		l.Programs = append(l.Programs, listedProgram{Program: "*", Allow: any})
	}
}

// find looks for the program's file.
func (p *listedProgram) find(ev *evaluator) {
	if p.Program == "*" || strings.Contains(p.Program, "/") {
		return
	}
	found, err := ev.host.Lookup(p.Program)
	if p.File = found.Path; err != nil {
		p.Missing = err.Error()
	}
}

func (l *listing) print(w io.Writer, presets bool) {
	who := strings.TrimSpace(fmt.Sprintf("%s %s", cmp.Or(l.Who.Agent, l.Who.Principal), l.Who.Client))
	by := cmp.Or(l.Policy.File, "the allowlist alone")
	say(w, "%s may run, with %s tools, by %s:", argv.Escape(who), l.Family, argv.Escape(by))
	for _, n := range l.Profiles {
		say(w, "  within the profile %s (%s)", argv.Escape(n.Name), argv.Escape(n.At))
		printRules(w, "only", n.Only, true)
		printRules(w, "ask", n.Ask, true)
		printRules(w, "deny", n.Deny, true)
	}
	if len(l.Programs) == 0 {
		say(w, "  nothing")
	}
	for _, p := range l.Programs {
		name := argv.Escape(p.Program)
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
		say(w, "Within the roots %s.", argv.Escape(strings.Join(l.Roots, ", ")))
	}
	if a := l.Allowlist; a != nil && l.Policy.File != "" {
		say(w, "Narrowed by %s.", argv.Escape(a.Source))
	}
	if a := l.Allowlist; a != nil && a.Fault != "" {
		say(w, "✘ %s cannot be used: %s", argv.Escape(a.Source), argv.Escape(a.Fault))
	}
	say(w, "Everything else: %s.", map[string]string{"ask": "needs approval"}[l.Default]+map[string]string{"deny": "denied"}[l.Default])
}

// printRules prints rules, with those of presets only if asked.
func printRules(w io.Writer, effect string, list []ruleText, presets bool) {
	more := 0
	for _, r := range list {
		if strings.HasPrefix(r.At, "preset:") && !presets {
			more++
			continue
		}
		lends := ""
		if len(r.Lends) > 0 {
			lends = "  lends " + argv.Escape(strings.Join(r.Lends, ", "))
		}
		say(w, "    %-6s %s%s  (%s)", effect, argv.Escape(r.Pattern), lends, argv.Escape(r.At))
	}
	if more > 0 {
		say(w, "    %-6s %s of presets; --presets lists them", effect, plural(int64(more), "rule", "rules"))
	}
}
