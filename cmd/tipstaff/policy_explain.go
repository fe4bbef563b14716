package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tipstaff"
	"tipstaff/internal/inspect/explain"
	"tipstaff/internal/policy"
)

// effectExits are the exit codes of explain, by decision.
var effectExits = map[policy.Effect]int{policy.Allow: exitOK, policy.Ask: exitApproval, policy.Deny: exitDenied}

const explainLong = `Say what a server with these settings, started in this directory, would decide on
a command: the rule that decides with its file and line, what else speaks for or
against it, the nearest form that is allowed; and what the command would be given:
time, output, confinement, the names of its variables (never their values).

The decision is the server's own, made by the same code. Not asked are people, and
an external decider, which can only narrow. Nothing runs, and nothing is recorded.

With --shell, say it of a script for execute_shell: of each command that stands in it,
and what can be known only when it runs.

The exit code is 0 when the command is allowed, 4 when it is denied, 5 when it
needs a person's approval.`

func newPolicyExplain() *cobra.Command {
	var o struct {
		config  configFlag
		caller  callerFlags
		family  string
		dir     string
		timeout time.Duration
		script  string
		asJSON  bool
		noColor bool
	}
	cmd := &cobra.Command{
		Use:   "explain [flags] {-- PROGRAM [ARGUMENT…] | --shell SCRIPT}",
		Short: "Say what would be decided on a command, by which rule, and what it would be given",
		Long:  explainLong,
		Example: `  tipstaff policy explain -- git push --force origin main
  tipstaff policy explain --agent review-1 --json -- npm install left-pad
  tipstaff policy explain --shell 'git log --oneline | head -n 3 > log.txt'`,
		Args: explainArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			family, err := familyOf(o.family)
			if err != nil {
				return err
			}
			ev, err := evaluatorHere(&o.config)
			if err != nil {
				return err
			}
			req := tipstaff.Request{
				Origin: o.caller.origin(), Family: family, Argv: args, Timeout: o.timeout,
				Dir: o.dir, DirGiven: cmd.Flags().Changed("cwd"),
			}
			out, s := cmd.OutOrStdout(), screenOf(cmd.OutOrStdout(), o.noColor)
			var effect policy.Effect
			if o.script == "" {
				var d *explain.Decision
				d, effect = ev.explainer().Decide(req)
				err = printExplained(out, s, o.asJSON, d, printDecision)
			} else {
				req.Argv, req.Script = nil, o.script
				var d *explain.Script
				d, effect = ev.explainer().Script(req)
				err = printExplained(out, s, o.asJSON, d, printScript)
			}
			if code := effectExits[effect]; err == nil && code != exitOK {
				return &exitError{code: code}
			}
			return err
		},
	}
	o.config.declare(cmd)
	o.caller.declare(cmd)
	cmd.Flags().StringVar(&o.family, "family", string(tipstaff.Execute), "as a tool of this `family` would: execute or terminal")
	cmd.Flags().StringVar(&o.dir, "cwd", "", "in this `directory`, as a caller may give it (default: none is given)")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "with this time limit, as 500ms or 2m (default: none is given)")
	cmd.Flags().StringVar(&o.script, "shell", "", "a `script` instead of a command")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&o.noColor, "no-color", false, "no colours")
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// explainArgs wants a command or --shell, not both.
func explainArgs(cmd *cobra.Command, args []string) error {
	script := cmd.Flags().Lookup("shell")
	switch {
	case !script.Changed:
		return cobra.MinimumNArgs(1)(cmd, args)
	case strings.TrimSpace(script.Value.String()) == "":
		return fail(exitUsage, "--shell needs a script that is not empty")
	}
	return cobra.NoArgs(cmd, args)
}

// explainer returns what explains decisions by these settings.
func (ev *evaluator) explainer() *explain.Explainer {
	return &explain.Explainer{
		Policy: ev.policy(ev.file.Policy), World: ev.host, File: ev.file, Environment: ev.environment,
		MemoryBytes: ev.settings.Limits.MemoryBytes, Processes: ev.settings.Limits.Processes,
		Terminal: ev.settings.Terminal, Decider: ev.asksDecider(), Confine: ev.confinementUnder,
	}
}

// asksDecider reports whether a server would ask a decider besides the policy.
func (ev *evaluator) asksDecider() bool {
	if ev.settings.Decider.Address != "" || ev.file.Policy == nil {
		return ev.settings.Decider.Address != ""
	}
	d := &ev.file.File.Decider
	return d.URL.At.Set() || d.Socket.At.Set()
}
