package main

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"tipstaff"
	"tipstaff/internal/admin/api"
	"tipstaff/internal/audit"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/monitor"
	"tipstaff/internal/policy/freeze"
	"tipstaff/internal/redact"
	"tipstaff/internal/sandbox"
	"tipstaff/internal/server/config"
)

func newFreeze() *cobra.Command {
	var t freeze.Target
	var why string
	var asJSON bool
	var where deskFlags
	cmd := &cobra.Command{
		Use:   "freeze",
		Short: "Refuse all commands of an agent, and end what runs of it",
		Long: `Refuse all commands of an agent, a task, a session, a client or a principal until
'tipstaff lift', and end those that run: on all servers with this state directory
(TIPSTAFF_STATE_DIR), also on those that start later. Names are exact; what is
given together must hold together. Without any, it shows who is frozen.

Agent and task are what callers say of themselves in terminal_create_session; calls
outside of sessions have none. To hold a caller that could give itself another name,
or one without sessions, freeze its client or its principal. A client may be given
with its version or without, as claude-code/2.1 or claude-code.

The agent is told that a person has frozen it, why, and that it is not to try again.`,
		Example: `  tipstaff freeze --agent build-agent --why 'It deletes what it should keep.'
  tipstaff freeze --client claude-code
  tipstaff freeze
  tipstaff lift --agent build-agent`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := where.open(cmd.Context())
			if err != nil {
				return err
			}
			defer d.close()
			if t == (freeze.Target{}) {
				return showFrozen(cmd, d, asJSON)
			}
			out, err := d.Freeze(cmd.Context(), t, why)
			if out.Entry.Target == (freeze.Target{}) {
				return fail(exitFailure, "cannot freeze: %s", escapeLines(err))
			}
			what := "Frozen"
			if out.Already {
				what = "Was frozen already"
			}
			say(cmd.OutOrStdout(), "%s: %s. %s", what, out.Entry.Target, endedText(out.Commands, out.Servers))
			for _, c := range out.Commands {
				say(cmd.OutOrStdout(), "  %s  %s", cmdline.Escape(c.ID), cmdline.Escape(c.Line))
			}
			if err != nil {
				return fail(exitFailure, "not everything could be done:\n%s", escapeLines(err))
			}
			return nil
		},
	}
	declareTarget(cmd, &t)
	cmd.Flags().StringVar(&why, "why", "", "the reason, for the record and for the agent")
	cmd.Flags().BoolVar(&asJSON, "json", false, "show who is frozen as one JSON list")
	where.declare(cmd)
	return cmd
}

func newLift() *cobra.Command {
	var t freeze.Target
	var where deskFlags
	cmd := &cobra.Command{
		Use:   "lift",
		Short: "Lift what 'tipstaff freeze' has frozen",
		Long: `Lift a freeze, given as it was frozen: its commands are judged again from now on.
'tipstaff freeze' alone shows who is frozen. The exit code is 1 when this is not.`,
		Example: `  tipstaff lift --agent build-agent`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if t == (freeze.Target{}) {
				return fail(exitUsage, "say what to lift, as it was frozen: --agent, --task, --session, --client or --principal")
			}
			d, err := where.open(cmd.Context())
			if err != nil {
				return err
			}
			defer d.close()
			e, err := d.Lift(cmd.Context(), t)
			switch {
			case errors.Is(err, freeze.ErrNotFrozen):
				return fail(exitFailure, "%s is not frozen; 'tipstaff freeze' shows who is", t)
			case err != nil && e.Target == (freeze.Target{}):
				return fail(exitFailure, "cannot lift it: %s", escapeLines(err))
			}
			say(cmd.OutOrStdout(), "Lifted: %s, frozen by %s at %s.", e.Target, frozenBy(e), e.At.Local().Format(time.DateTime))
			if err != nil {
				return fail(exitFailure, "not all have taken it up yet:\n%s", escapeLines(err))
			}
			return nil
		},
	}
	declareTarget(cmd, &t)
	where.declare(cmd)
	return cmd
}

func declareTarget(cmd *cobra.Command, t *freeze.Target) {
	cmd.Flags().StringVar(&t.Agent, "agent", "", "commands of this agent")
	cmd.Flags().StringVar(&t.Task, "task", "", "commands of this task")
	cmd.Flags().StringVar((*string)(&t.Session), "session", "", "commands of this session")
	cmd.Flags().StringVar(&t.Client, "client", "", "commands of this client program")
	cmd.Flags().StringVar(&t.Principal, "principal", "", "commands of this principal")
}

// endedText says how many commands were ended, and on how many servers.
func endedText(ended []api.Command, servers int) string {
	if servers == 0 {
		return "No server runs; it holds for those that start."
	}
	return counted(len(ended), "command") + " ended on " + counted(servers, "server") + "."
}

func showFrozen(cmd *cobra.Command, d *desk, asJSON bool) error {
	out, talk := cmd.OutOrStdout(), cmd.ErrOrStderr()
	all, err := freeze.NewBook(api.Directory(d.settings.StateDir)).Entries()
	if d.fleet {
		now, err := d.Now(cmd.Context())
		if err != nil {
			return fail(exitFailure, "cannot tell who is frozen: %s", escapeLines(err))
		}
		for _, s := range now.Servers {
			if why := cmp.Or(s.Silent, s.Fault); why != "" {
				say(talk, "%s: %s", s.Name(), cmdline.Escape(why))
			}
		}
		all = now.Frozen
	} else if err != nil {
		return fail(exitFailure, "%s\nUntil it is mended, every command is refused. Without the file, nobody is frozen.", escapeLines(err))
	}
	if asJSON {
		if all == nil {
			all = []freeze.Entry{}
		}
		return sayJSON(out, all)
	}
	if len(all) == 0 {
		say(talk, "Nobody is frozen.")
	}
	for _, e := range all {
		say(out, "%s", frozenText(e))
	}
	return nil
}

// frozenBy is who has frozen, for people.
func frozenBy(e freeze.Entry) string {
	return cmdline.Escape(tipstaff.Person{Name: cmp.Or(e.By, "?"), Operator: e.Operator}.String())
}

// frozenText is a freeze as one line.
func frozenText(e freeze.Entry) string {
	text := e.Target.String() + ", by " + frozenBy(e) + " at " + e.At.Local().Format(time.DateTime)
	if e.Why != "" {
		text += ": " + cmdline.Escape(e.Why)
	}
	return text
}

// recordAlone records freezes while no server runs, in a trail of its own.
func recordAlone(s config.Settings) api.Record {
	return func(e freeze.Entry, by tipstaff.Person, lifted bool) (err error) {
		log := slog.New(slog.DiscardHandler)
		observers, err := newObservers(s, log)
		if err != nil {
			return err
		}
		defer observers.close()
		modes := sandbox.NewModeGuard(log)
		defer func() { err = errors.Join(err, modes.Close()) }()
		trail, err := newTrail(s, log, observers, redact.New(redact.Secrets(s.Environ)), modes)
		if err != nil {
			return err
		}
		event := audit.FreezeSet
		if lifted {
			event = audit.FreezeLifted
		}
		err = trail.Append(monitor.FreezeRecord(event, e, by, audit.PersonFile))
		return errors.Join(err, trail.Close())
	}
}
