package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tipstaff/internal/admin/api"
	"tipstaff/internal/audit"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/front/hook"
	"tipstaff/internal/inspect/clients"
	"tipstaff/internal/monitor"
	"tipstaff/internal/policy/freeze"
	"tipstaff/internal/redact"
	"tipstaff/internal/sandbox"
	"tipstaff/internal/server/config"
)

func newHook() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hook",
		Short: "Let a client's own shell ask the same policy, and write to the same trail",
		Long: `Some clients have a shell of their own beside their MCP servers. Their hooks let
tipstaff decide about each line before it runs, by the policy of the server, and record
it in the server's trail, with what has come of it.

tipstaff does not run these lines: no sandbox, no limits, no restored files. So only a
line of which everything is known before is allowed; the rest is asked or denied. To
take the client's own shell away and leave it execute_shell is stronger.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newHookInstall(), newHookUninstall())
	for _, name := range clients.HookNames() {
		cmd.AddCommand(newHookOf(name))
	}
	return cmd
}

// newHookOf is the command that a client calls.
func newHookOf(client string) *cobra.Command {
	var env []string
	cmd := &cobra.Command{
		Use:   client,
		Short: "Answer one question of " + client + " (what hook install writes into its settings)",
		Long: `Read one question of the client from standard input, and answer it. Settings count
only as --env gives them: the environment of the client may be a project's.

The exit code is 0 with an answer, 2 where none can be given, which blocks the line, and
1 if what has come of a line cannot be recorded.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return hookCall(cmd.Context(), client, env, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringArrayVar(&env, "env", nil, "a setting, as `NAME=VALUE`; may be repeated")
	return cmd
}

// hookPatience is less than what hook install lets the client wait.
const hookPatience = 25 * time.Second

// exitBlocked blocks a line: Claude Code takes no other code for that.
const exitBlocked = 2

// hookCall answers one call. Every fault before a line runs is a denial.
func hookCall(ctx context.Context, client string, env []string, in io.Reader, out, errs io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, hookPatience)
	defer cancel()
	asked, err := hook.Read(in)
	if err != nil {
		return &exitError{code: exitBlocked, err: err}
	}
	h, err := newHookStack(client, env, errs)
	if asked.Event != hook.Before {
		if err == nil {
			err = h.front.Report(asked)
			h.close()
			sweepOnce(h.settings, "tipstaff hook", newLog(errs))
		}
		if err != nil {
			return fail(exitFailure, "what has come of the line is not recorded: %w", err)
		}
		return nil
	}
	var answer hook.Answer
	if err != nil {
		say(errs, "tipstaff: %v", err)
		answer = hook.Denied(errors.New("its settings or its policy cannot be used; the operator sees why by: tipstaff hook install " + client + " --dry-run"))
	} else {
		answer = h.front.Decide(ctx, asked)
		h.close()
	}
	if err := answer.Write(out); err != nil {
		return &exitError{code: exitBlocked, err: err}
	}
	return nil
}

// hookStack is what of a server decides and records.
type hookStack struct {
	settings  config.Settings
	front     *hook.Hook
	trail     *audit.Trail
	modes     *sandbox.ModeGuard
	observers *observers
	shipping  *shipping
}

func newHookStack(client string, env []string, errs io.Writer) (*hookStack, error) {
	s, err := hookSettings(env)
	if err != nil {
		return nil, err
	}
	log := newLog(errs)
	st := &hookStack{settings: s}
	ev, err := newEvaluator(s, log)
	if err != nil {
		return nil, err
	}
	secrets := redact.New(redact.Secrets(s.Environ))
	list, err := newDeciders(s, secrets, telemetry{}, log)
	if err != nil {
		return nil, err
	}
	decider, _, err := list.beside(ev.file.Policy)
	if err != nil {
		return nil, fail(exitConfig, "cannot use the policy file: %w", err)
	}
	if st.observers, err = newObservers(s, log); err != nil {
		return nil, err
	}
	st.modes = sandbox.NewModeGuard(log)
	if st.trail, err = newTrail(s, log, st.observers, secrets, st.modes); err != nil {
		st.observers.close()
		return nil, err
	}
	if st.shipping, err = dueShipping(s.Engine, asRunner, log); err == nil {
		err = st.shipping.begin(st.trail.Path())
	}
	if err != nil {
		st.close()
		return nil, err
	}
	m := &monitor.Monitor{Policy: ev.policy(ev.file.Policy), World: ev.host, Trail: st.trail, Decider: decider, Freezer: freeze.NewBook(api.Directory(s.StateDir)), Log: log}
	st.front = &hook.Hook{Road: m, Client: client, Path: hook.PathOf(os.Getenv("PATH")), Project: projectGiven()}
	return st, nil
}

// close ends the trail, which is one of its own beside that of a server, and
// delivers its records.
func (st *hookStack) close() {
	_ = errors.Join(st.trail.Close(), st.modes.Close()) // what was decided is recorded already
	st.shipping.close()
	st.observers.close()
}

// projectGiven is the project of Claude Code.
func projectGiven() string {
	if dir := os.Getenv("CLAUDE_PROJECT_DIR"); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return ""
}

// hookSettings are the settings of a hook: those of its own command line, and
// what is no setting of the environment.
func hookSettings(given []string) (config.Settings, error) {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.ContainsFunc(settingPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			env = append(env, kv)
		}
	}
	for _, kv := range given {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || !variableName().MatchString(name) {
			return config.Settings{}, fail(exitUsage, "--env %s: write NAME=VALUE", cmdline.Escape(kv))
		}
		env = append(env, kv)
	}
	s, err := config.FromEnvironment(lastWins(env))
	if err = errors.Join(err, misspeltError(given)); err != nil {
		return s, fail(exitConfig, "cannot use these settings:\n%w", err)
	}
	return s, nil
}

// settingPrefixes begin the names of settings.
var settingPrefixes = []string{"TIPSTAFF_", "ALLOWED_", "TERMINAL_", "ENABLE_"}

// hookExample is what a hook says of a line, for a person who installs it.
func hookExample(env []string, line string) (string, error) {
	s, err := hookSettings(env)
	if err != nil {
		return "", err
	}
	ev, err := newEvaluator(s, newLog(io.Discard))
	if err != nil {
		return "", err
	}
	dir, err := workingDirectory()
	if err != nil {
		return "", fail(exitFailure, "this directory cannot be told: %w", err)
	}
	m := ev.monitor()
	m.Trail = unrecorded{}
	h := &hook.Hook{Road: m, Client: "claude-code", Path: hook.PathOf(os.Getenv("PATH"))}
	asked, err := hook.Read(strings.NewReader(`{"hook_event_name": "PreToolUse", "tool_name": "Bash", "permission_mode": "default"}`))
	if err != nil {
		return "", err
	}
	asked.Dir, asked.Input.Command = dir, line
	return h.Decide(context.Background(), asked).Decision, nil
}

// unrecorded is a trail for decisions that nothing follows.
type unrecorded struct{}

func (unrecorded) Append(audit.Record) error { return nil }
