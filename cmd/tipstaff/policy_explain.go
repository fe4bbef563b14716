package main

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tipstaff"
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
			e, effect := ev.explainAny(req, o.script)
			if o.asJSON {
				err = writeJSON(cmd.OutOrStdout(), e)
			} else {
				e.print(cmd.OutOrStdout(), screenOf(cmd.OutOrStdout(), o.noColor))
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

// explainAny decides about a script if there is one, else about the command.
func (ev *evaluator) explainAny(req tipstaff.Request, script string) (printed, policy.Effect) {
	if script == "" {
		return ev.explain(req)
	}
	req.Argv, req.Script = nil, script
	return ev.explainScript(req)
}

// printed is an explanation, for programs as JSON and for people.
type printed interface {
	print(w io.Writer, s screen)
}

// explanation is everything about one decision.
type explanation struct {
	Command []string `json:"command"`
	Effect  string   `json:"effect"` // allow, ask, deny
	// Decides is the finding that decided: the strictest one.
	Decides found `json:"decides"`
	// Others are the remaining findings, the strictest first.
	Others []found `json:"others"`

	File        string          `json:"program_file,omitempty"`
	Dir         string          `json:"cwd,omitempty"`
	Limits      explainedLimits `json:"limits"`
	Sandbox     explainedBox    `json:"sandbox"`
	Environment explainedEnv    `json:"environment"`
	// Credentials is what the command is lent: "git", "environment DATABASE_URL".
	Credentials []string `json:"credentials,omitempty"`

	Family string          `json:"family"`
	Who    asker           `json:"who"`
	Policy explainedPolicy `json:"policy"`
	Notes  []string        `json:"notes,omitempty"`
}

// found is one finding.
type found struct {
	Effect  string `json:"effect"`
	Rule    string `json:"rule"`
	At      string `json:"at,omitempty"`   // file:line, or the name of a setting
	Line    string `json:"line,omitempty"` // the text at that place
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Hint    string `json:"hint,omitempty"`
	Nearest string `json:"nearest,omitempty"` // allowed form
}

type explainedLimits struct {
	TimeoutMS    int64 `json:"timeout_ms,omitempty"` // 0: the requested timeout is refused
	MaxTimeoutMS int64 `json:"max_timeout_ms,omitempty"`
	OutputBytes  int   `json:"output_bytes"`
	MemoryBytes  int64 `json:"memory_bytes,omitempty"`
	Processes    int   `json:"processes,omitempty"`
}

type explainedEnv struct {
	Passed  []string `json:"passed"`            // names of the command's variables
	Hidden  []string `json:"hidden,omitempty"`  // names of the server's variables that no command sees
	Dropped []string `json:"dropped,omitempty"` // names of variables that the policy file removes from this command
}

type explainedPolicy struct {
	File           string `json:"file,omitempty"`
	SHA256         string `json:"sha256,omitempty"`
	DecisionSHA256 string `json:"decision_sha256"` // as the record names it
}

// explain decides about a request without running it.
func (ev *evaluator) explain(req tipstaff.Request) (*explanation, policy.Effect) {
	d := ev.monitor().Explain(req)
	defer d.Close()
	if g, ok := d.Grant(); ok {
		defer g.Close()
	}
	would := d.Would()
	e := &explanation{
		Command: req.Argv, Effect: d.Effect.String(), Others: []found{}, File: would.File, Dir: would.Dir, Family: string(req.Family),
		Who:    asker{req.Origin.Agent, req.Origin.Task, req.Origin.Client, req.Origin.Principal},
		Policy: explainedPolicy{DecisionSHA256: d.Digest},
		Limits: explainedLimits{
			TimeoutMS: would.Timeout.Milliseconds(), MaxTimeoutMS: would.MaxTimeout.Milliseconds(), OutputBytes: would.Output,
			MemoryBytes: least(ev.settings.Limits.MemoryBytes, would.Bounds.Memory), Processes: least(ev.settings.Limits.Processes, would.Bounds.Processes),
		},
	}
	e.weigh(&d, ev)
	e.Environment = ev.environmentOf(&d, &would)
	e.Credentials = would.Credentials.Strings()
	e.Sandbox = ev.sandboxOf(&would)
	if f := ev.file; f.Policy != nil {
		e.Policy.File, e.Policy.SHA256 = f.Path, f.Digest
	}
	if ev.asksDecider() {
		e.Notes = append(e.Notes, "A decider is asked as well when a server decides, and it can only narrow.")
	}
	if req.Family == tipstaff.Terminal && !ev.settings.Terminal {
		e.Notes = append(e.Notes, "These settings do not offer the terminal_* tools; ENABLE_TERMINAL_ACCESS=true does.")
	}
	return e, d.Effect
}

// asksDecider reports whether a server would ask a decider besides the policy.
func (ev *evaluator) asksDecider() bool {
	if ev.settings.Decider.Address != "" || ev.file.Policy == nil {
		return ev.settings.Decider.Address != ""
	}
	d := &ev.file.File.Decider
	return d.URL.At.Set() || d.Socket.At.Set()
}

// weigh divides the findings into the one that decided and the others.
func (e *explanation) weigh(d *policy.Decision, ev *evaluator) {
	e.Decides = ev.found(d.Deciding())
	if len(d.Findings) == 0 { // there is no objection, and no file that allows it
		list := ev.host.Allowlist(tipstaff.Family(e.Family))
		e.Decides = found{Effect: policy.Allow.String(), Rule: "allowlist", At: list.Source, Message: "nothing stands against it"}
		return
	}
	decided := false
	for _, f := range d.Findings {
		one := ev.found(f)
		if !decided && one == e.Decides {
			decided = true
			continue
		}
		if !slices.Contains(e.Others, one) {
			e.Others = append(e.Others, one)
		}
	}
	order := []string{policy.Deny.String(), policy.Ask.String(), policy.Allow.String()}
	slices.SortStableFunc(e.Others, func(a, b found) int { return slices.Index(order, a.Effect) - slices.Index(order, b.Effect) })
}

func (ev *evaluator) found(f policy.Finding) found {
	out := found{Effect: f.Effect.String(), Rule: f.Rule, At: f.At, Code: string(f.Code), Message: f.Msg, Hint: f.Hint}
	if ev.file.Policy != nil {
		out.Line, _ = ev.file.Text(f.At)
	}
	out.Nearest, _ = f.Details["nearest"].(string)
	return out
}

// environmentOf lists the names of variables but not their values.
func (ev *evaluator) environmentOf(d *policy.Decision, w *policy.Would) explainedEnv {
	e := explainedEnv{Passed: w.Env, Dropped: d.Dropped}
	for _, name := range ev.environment.Hidden() {
		if !slices.Contains(w.Env, name) { // the command has a PWD of its own
			e.Hidden = append(e.Hidden, name)
		}
	}
	slices.Sort(e.Hidden)
	if w.Env == nil {
		e.Passed = []string{}
		return e
	}
	for _, name := range ev.environment.Names() {
		if name != "NO_COLOR" && !slices.Contains(w.Env, name) { // that one is dropped when the caller asks for colours
			e.Dropped = append(e.Dropped, name)
		}
	}
	return e
}

// least returns the smaller one of two limits, where 0 means no limit.
func least[T int | int64](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
