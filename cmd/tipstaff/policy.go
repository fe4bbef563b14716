package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"path/filepath"

	"github.com/spf13/cobra"

	"tipstaff"
	"tipstaff/internal/policy/language"
)

func newPolicyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Ask the policy: what would be decided, and why",
		Long:  policyHelp,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicyExplain(), newPolicyList(), newPolicyTest(), newPolicyCheck(), newPolicyShow(), newPolicyDiff())
	return cmd
}

// callerFlags describe an assumed caller.
type callerFlags struct{ agent, task, client, principal string }

func (c *callerFlags) declare(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.agent, "agent", "", "for the agent of this `name`")
	f.StringVar(&c.task, "task", "", "for the task of this `name`")
	f.StringVar(&c.client, "client", "", "for the client of this `name and version`")
	f.StringVar(&c.principal, "principal", "local", "for this authenticated `caller`")
}

func (c *callerFlags) who() language.Who {
	return language.Who{Agent: c.agent, Task: c.task, Client: c.client, Principal: c.principal}
}

func (c *callerFlags) origin() tipstaff.Origin {
	return tipstaff.Origin{Front: "cli", Agent: c.agent, Task: c.task, Client: c.client, Principal: c.principal}
}

// evaluatorHere returns what a server with these settings would decide by.
func evaluatorHere(c *configFlag) (*evaluator, error) {
	s, err := c.settings()
	if err != nil {
		return nil, err
	}
	return newEvaluator(s, slog.New(slog.DiscardHandler))
}

// policyPath is the file that an argument names, or else the one of the
// settings.
func policyPath(c *configFlag, args []string) (string, error) {
	if len(args) > 0 {
		path, err := filepath.Abs(args[0])
		if err != nil {
			return "", fail(exitConfig, "cannot find the policy file %s: %w", args[0], err)
		}
		return path, nil
	}
	s, err := c.settings()
	if err == nil && s.ConfigFile == "" {
		err = fail(exitConfig, "there is no policy file: name one, set TIPSTAFF_CONFIG, or give --config")
	}
	return s.ConfigFile, err
}

// writeJSON prints one value for programs.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fail(exitFailure, "cannot print: %w", err)
	}
	return nil
}
