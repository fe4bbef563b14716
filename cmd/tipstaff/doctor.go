package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"tipstaff/internal/policy"
	"tipstaff/internal/proc"
	"tipstaff/internal/profile"
	"tipstaff/internal/sandbox"
)

// diagnosis is what doctor finds.
type diagnosis struct {
	Start   string         `json:"start"`            // by what programs are started
	End     string         `json:"end"`              // by what trees are ended
	Reason  string         `json:"reason,omitempty"` // why not by something better
	Ended   int            `json:"ended"`            // processes of dead servers that were ended
	Sandbox sandbox.Status `json:"sandbox"`
	Record  auditStatus    `json:"record"`
	Callers callersStatus  `json:"callers"`
	Decider *deciderStatus `json:"decider,omitempty"` // nil without one
	Policy  policyStatus   `json:"policy"`
	// Exposed are files of tipstaff's own that commands may change.
	Exposed []exposedFile `json:"exposed,omitempty"`
	// Error says why no command would run with these settings.
	Error string `json:"error,omitempty"`
}

func newDoctor() *cobra.Command {
	var reap, asJSON, paths bool
	var c configFlag
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine gives, and mend what dead servers left",
		Long: `Say how commands are decided, started, confined, ended and recorded on this machine with
the settings of this environment, and why not better. The workspace is that of a
server started in this directory. With --paths, list every path that the profile
opens, hides or pins, and why. With --reap, end what servers with this state
directory have left running when they were killed; a starting server does the
same. Exit code 3 if the settings ask for more than the machine gives.`,
		Example: `  tipstaff doctor
  TIPSTAFF_SANDBOX_PROFILE=read-only tipstaff doctor --paths
  tipstaff doctor --reap`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := diagnose(cmd.Context(), &c, reap)
			if err != nil {
				return err
			}
			if asJSON {
				err = json.NewEncoder(cmd.OutOrStdout()).Encode(d)
			} else {
				d.print(cmd.OutOrStdout(), reap, paths)
			}
			if err == nil && (d.Error != "" || d.Record.Error != "" || d.Policy.Error != "" || d.Decider.fault() != "") {
				err = fail(exitConfig, "no command would run with these settings")
			}
			return err
		},
	}
	c.declare(cmd)
	cmd.Flags().BoolVar(&reap, "reap", false, "end what dead servers have left running")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with all paths")
	cmd.Flags().BoolVar(&paths, "paths", false, "list what the profile opens, hides and pins")
	return cmd
}

// diagnose makes an engine and a sandbox as a server would. Only with reap does
// the engine look at the state directory, because making one there ends
// survivors.
func diagnose(ctx context.Context, c *configFlag, reap bool) (diagnosis, error) {
	settings, err := c.settings()
	if err != nil {
		return diagnosis{}, err
	}
	log := slog.New(slog.DiscardHandler)
	k, err := newKeeper(settings, "", log)
	if err != nil {
		return diagnosis{}, err
	}
	defer k.Close()
	j, err := newJudgeWithoutFile(settings, k, log)
	if err != nil {
		return diagnosis{}, err
	}
	var o proc.Options
	if reap {
		o.StateDir = settings.StateDir
	}
	engine, err := proc.NewEngine(o)
	if err != nil {
		return diagnosis{}, fail(exitFailure, "cannot start commands on this machine: %w", err)
	}
	m := engine.Means()
	d := diagnosis{
		Start: m.Start, End: m.End, Reason: m.Reason, Ended: engine.Reaped(),
		Record: examineAudit(ctx, settings), Callers: examineCallers(settings), Policy: examinePolicy(ctx, j),
	}
	keepPolicy(k, j.file)
	if d.Decider, err = examineDecider(settings); err != nil {
		return d, errors.Join(err, engine.Close())
	}
	if d.Sandbox, err = j.tryConfinement(engine, sandbox.Terms{}); err != nil {
		d.Error = err.Error()
	}
	d.Exposed = exposedOf(k, wallsBy(d.Sandbox))
	if err := engine.Close(); err != nil {
		return d, fail(exitFailure, "cannot clean up: %w", err)
	}
	return d, nil
}

// tryConfinement makes the sandbox of the settings and the policy file, looks at it
// and removes it.
func (j *judge) tryConfinement(engine *proc.Engine, terms sandbox.Terms) (sandbox.Status, error) {
	o, err := sandboxOptions(j.settings, j.host)
	if err != nil {
		return sandbox.Status{}, err
	}
	if workspace := policy.Workspace(j.file.Policy, j.host); len(workspace) > 0 {
		o.Workspace = workspace // as each command would bring it
	}
	confineOwn(&o, j.keeper)
	box, err := makeSandbox(o, engine, slog.New(slog.DiscardHandler))
	if err != nil {
		return sandbox.Status{}, err
	}
	if err := box.Err(); err != nil {
		return box.Status(), errors.Join(err, box.Close())
	}
	return box.StatusUnder(terms), errors.Join(box.Meets(terms), box.Close())
}

func (d diagnosis) print(w io.Writer, reap, paths bool) {
	say(w, "✔ starts programs by %s", d.Start)
	if d.Reason == "" {
		say(w, "✔ ends trees by %s", d.End)
	} else {
		say(w, "! ends trees by %s: %s", d.End, d.Reason)
	}
	if d.Error != "" {
		say(w, "✘ sandbox: %s", d.Error)
	} else {
		printSandbox(w, d.Sandbox, paths)
	}
	d.Record.print(w)
	d.Policy.print(w)
	d.Callers.print(w)
	printExposed(w, d.Exposed)
	d.Decider.print(w)
	if reap {
		say(w, "✔ processes of dead servers ended: %d", d.Ended)
	}
}

// printSandbox tells how commands are confined, and with paths each path.
func printSandbox(w io.Writer, s sandbox.Status, paths bool) {
	line := fmt.Sprintf("sandbox: tier %s, profile %s, network %s (TIPSTAFF_SANDBOX=%s)", s.Tier, s.Profile, s.Network, s.Mode)
	switch {
	case s.Tier == sandbox.None.String():
		say(w, "✘ %s: commands are NOT confined: %s", line, s.Reason)
		return
	case s.Reason != "":
		say(w, "! %s; not better, because %s", line, s.Reason)
	default:
		say(w, "✔ %s", line)
	}
	if s.Landlock != "" {
		say(w, "  %s", s.Landlock)
	}
	p := s.Paths
	say(w, "  writable: %d directories and files, hidden: %d, pinned: %d, repositories of git: %d%s",
		len(p.Writable()), len(p.Hidden), len(p.Pinned), len(p.Repositories), pathsHint(paths))
	if paths {
		printPaths(w, p)
	}
	printProtection(w, s)
	printLimits(w, s.Limits)
	for _, planted := range p.Planted {
		say(w, "! %s: %s", planted.Path, planted.Why)
	}
	for _, note := range s.Notes {
		say(w, "! %s", note)
	}
}

// printLimits tells by what memory and processes are bounded.
func printProtection(w io.Writer, s sandbox.Status) {
	switch {
	case s.Protection == "":
		return
	case s.Weaker != "":
		say(w, "! hooks, configuration of git and the like: protected by %s; %s", s.Protection, s.Weaker)
	default:
		say(w, "✔ hooks, configuration of git and the like: protected by %s", s.Protection)
	}
	say(w, "  git itself takes no repository of any name for one with: git config --global safe.bareRepository explicit")
}

func printLimits(w io.Writer, l *sandbox.LimitsStatus) {
	switch {
	case l == nil:
	case l.Reason == "":
		say(w, "✔ memory: %s; processes: %s", l.Memory, l.Processes)
	default:
		say(w, "! memory: %s; processes: %s; not by control groups, because %s", l.Memory, l.Processes, l.Reason)
	}
}

func pathsHint(shown bool) string {
	if shown {
		return ""
	}
	return " (--paths lists them)"
}

// printPaths lists a profile as it comes to here.
func printPaths(w io.Writer, p profile.Paths) {
	for _, list := range []struct {
		title string
		paths []string
	}{{"workspace", p.Workspace}, {"cache", p.Caches}, {"git", p.Git}, {"device", p.Devices}, {"runtime", p.Runtime}} {
		for _, path := range list.paths {
			say(w, "    %-9s  %s", list.title, path)
		}
	}
	for _, list := range []struct {
		title  string
		places []profile.Place
	}{{"missing", p.Missing}, {"hidden", p.Hidden}} {
		for _, place := range list.places {
			say(w, "    %-9s  %s  (%s)", list.title, place.Path, place.Why)
		}
	}
	for _, pin := range p.Pinned {
		kind := "pinned"
		if pin.InPlace {
			kind = "in place"
		}
		say(w, "    %-9s  %s  (%s)", kind, pin.Path, pin.Why)
	}
}
