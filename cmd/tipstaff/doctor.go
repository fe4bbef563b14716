package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tipstaff/internal/audit/sink"
	"tipstaff/internal/inspect/doctor"
	"tipstaff/internal/policy"
	"tipstaff/internal/proc"
	"tipstaff/internal/redact"
	"tipstaff/internal/sandbox"
	"tipstaff/internal/server/config"
)

func newDoctor() *cobra.Command {
	var reap, asJSON, paths bool
	var names []string
	var c configFlag
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine gives, and mend what dead servers left",
		Long: `Say how commands are decided, started, confined, ended and recorded on this machine with
the settings of this environment, and why not better. The workspace is that of a
server started in this directory. With --paths, list every path that the profile
opens, hides or pins, and why. With --reap, end what servers with this state
directory have left running when they were killed; a starting server does the
same. Exit code 3 if the settings ask for more than the machine gives, or if no server
starts with them.

With --client, say instead what is wrong with tipstaff in a client: the entry is gone or
switched off, its program has moved or is another, it does not start as the client starts
it, or does not find the programs of the policy on the PATH that the client gives.`,
		Example: `  tipstaff doctor
  TIPSTAFF_SANDBOX_PROFILE=read-only tipstaff doctor --paths
  tipstaff doctor --reap
  tipstaff doctor --client claude-code`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(names) > 0 {
				return doctorClient(cmd.Context(), cmd.OutOrStdout(), names)
			}
			s, err := c.settings()
			if err != nil {
				return err
			}
			d, err := diagnose(cmd.Context(), s, reap)
			if err != nil {
				return err
			}
			if asJSON {
				err = json.NewEncoder(cmd.OutOrStdout()).Encode(d)
			} else {
				doctor.Print(cmd.OutOrStdout(), d.Findings(time.Now(), doctor.Detail{Paths: paths, Ended: reap}))
				doctor.Print(cmd.OutOrStdout(), settingsFindings(s))
			}
			deaf := s.HTTP.Address != "" && d.Callers.Error != ""
			if err == nil && (d.Refuses() || deaf || ownSettings(s) != nil) {
				err = fail(exitConfig, "no command would run with these settings")
			}
			return err
		},
	}
	c.declare(cmd)
	cmd.Flags().BoolVar(&reap, "reap", false, "end what dead servers have left running")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with all paths")
	cmd.Flags().StringSliceVar(&names, "client", nil, "say how tipstaff stands in these `clients`, or in all that are here")
	_ = cmd.RegisterFlagCompletionFunc("client", completeClients)
	cmd.Flags().BoolVar(&paths, "paths", false, "list what the profile opens, hides and pins")
	return cmd
}

// diagnose examines each part of a server with these settings, and makes an
// engine and a sandbox as a server would. The engine uses the state directory
// only with reap, because an engine with a state directory ends survivors of
// dead servers.
func diagnose(ctx context.Context, s config.Settings, reap bool) (d doctor.Diagnosis, err error) {
	log := slog.New(slog.DiscardHandler)
	k, err := newKeeper(s, "", log)
	if err != nil {
		return d, err
	}
	defer k.Close()
	ev, err := newEvaluatorWithoutFile(s, k, log)
	if err != nil {
		return d, err
	}
	var o proc.Options
	if reap {
		o.StateDir = s.StateDir
	}
	engine, err := proc.NewEngine(o)
	if err != nil {
		return d, fail(exitFailure, "cannot start commands on this machine: %w", err)
	}
	d.Engine(engine.Means(), engine.Reaped())
	d.Record = doctor.ExamineRecord(ctx, doctor.RecordOptions{
		Dir: s.AuditDir(), Durability: s.AuditDurability, Recordings: s.Recordings, CopiesTo: s.Engine.CopiesTo(), CopiesStrict: s.Engine.AuditStrict(),
		Keep: s.AuditKeep, KeepRecordings: s.RecordingsKeep,
		Sinks: func() ([]sink.Sink, error) { return sinksOf(s) },
	})
	d.Callers = examineCallers(s)
	d.Policy, ev.file = doctor.ExaminePolicy(ctx, doctor.PolicyOptions{File: s.ConfigFile, From: s.ConfigFrom, Shell: shellSetting(s), Trails: s.AuditDir(), Host: ev.host})
	keepPolicy(k, ev.file)
	outside, err := deciderClient(s, redact.New(redact.Secrets(s.Environ)), nil)
	if err != nil {
		return d, errors.Join(err, engine.Close())
	}
	if outside != nil {
		defer outside.Close()
	}
	d.Decider = doctor.ExamineDecider(ctx, outside)
	d.Fleet = doctor.ExamineEngine(ctx, engineMembers(s.Engine))
	if d.Sandbox, err = ev.tryConfinement(engine, sandbox.Terms{}); err != nil {
		d.Error = err.Error()
	}
	d.Exposed = doctor.ExposedOf(k, confinementBy(d.Sandbox))
	if err := engine.Close(); err != nil {
		return d, fail(exitFailure, "cannot clean up: %w", err)
	}
	return d, nil
}

// examineCallers reads the files of the settings as a server over HTTP would.
// It contacts no issuer.
func examineCallers(s config.Settings) doctor.Callers {
	c := doctor.Callers{Methods: callersMethods(s.Callers)}
	log := slog.New(slog.DiscardHandler)
	pair, err := newServerTLS(s, nil, log)
	if pair != nil {
		end := pair.Expiry()
		c.CertificateEnds = &end
	}
	if _, wrong := newAuthenticator(s, io.Discard, nil, log); wrong != nil {
		err = errors.Join(err, wrong)
	}
	if err != nil {
		c.Error = err.Error()
	}
	return c
}

// callersMethods lists the ways to authenticate that the settings allow.
func callersMethods(c config.Callers) []string {
	methods := []string{}
	for _, m := range []struct {
		on   bool
		text string
	}{
		{c.Token != "", "the token of TIPSTAFF_TOKEN"},
		{c.TokensFile != "", "the tokens of " + c.TokensFile},
		{c.OAuth.Issuer != "", "access tokens of " + c.OAuth.Issuer},
		{c.TLS.ClientCAFile != "", "client certificates of " + c.TLS.ClientCAFile},
	} {
		if m.on {
			methods = append(methods, m.text)
		}
	}
	return methods
}

// tryConfinement makes the sandbox of the settings and the policy file, reads
// its status and removes it.
func (ev *evaluator) tryConfinement(engine *proc.Engine, terms sandbox.Terms) (sandbox.Status, error) {
	o, err := sandboxOptions(ev.settings, ev.host)
	if err != nil {
		return sandbox.Status{}, err
	}
	if workspace := policy.Workspace(ev.file.Policy, ev.host); len(workspace) > 0 {
		o.Workspace = workspace // the workspace that each command would have
	}
	confineOwn(&o, ev.keeper)
	box, err := makeSandbox(o, engine, slog.New(slog.DiscardHandler))
	if err != nil {
		return sandbox.Status{}, err
	}
	if err := box.Err(); err != nil {
		return box.Status(), errors.Join(err, box.Close())
	}
	return box.StatusUnder(terms), errors.Join(box.Meets(terms), box.Close())
}

// settingsFindings are the faults of the settings that no part of a diagnosis is about,
// and with which no server starts.
func settingsFindings(s config.Settings) (found []doctor.Finding) {
	err := ownSettings(s)
	if err == nil {
		return nil
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		found = append(found, doctor.Finding{Level: doctor.Fault, Text: line})
	}
	return found
}
