package server

import (
	"context"
	"errors"
	"io"
	"os"
	"os/user"
	"strings"

	"tipstaff/internal/admin/api"
	"tipstaff/internal/audit"
	"tipstaff/internal/exit"
	"tipstaff/internal/front/hook"
	"tipstaff/internal/monitor"
	"tipstaff/internal/policy/freeze"
	"tipstaff/internal/redact"
	"tipstaff/internal/sandbox"
	"tipstaff/internal/server/config"
)

// Hook is what of a server decides and records.
type Hook struct {
	Front     *hook.Hook
	trail     *audit.Trail
	modes     *sandbox.ModeGuard
	observers *observers
	shipping  *shipping
}

// NewHook makes what answers a hook of a client, whose environment is that of this
// process. The caller closes it.
func NewHook(client string, s config.Settings, errs io.Writer) (*Hook, error) {
	log := NewLog(errs)
	st := &Hook{}
	ev, err := NewEvaluator(s, log)
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
		return nil, exit.Errorf(exit.Config, "cannot use the policy file: %w", err)
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
		st.Close()
		return nil, err
	}
	m := &monitor.Monitor{Policy: ev.policy(ev.file.Policy), World: ev.Host, Trail: st.trail, Decider: decider, Freezer: freeze.NewBook(api.Directory(s.StateDir)), Log: log}
	st.Front = newFront(client, m)
	return st, nil
}

// newFront makes what answers a client whose environment is that of this process.
func newFront(client string, m hook.Monitor) *hook.Hook {
	h := &hook.Hook{Monitor: m, Client: client, Path: hook.PathOf(os.Getenv("PATH")), Environ: os.Environ()}
	if home, err := os.UserHomeDir(); err == nil {
		h.Homes = append(h.Homes, home)
	}
	if who, err := user.Current(); err == nil && who.HomeDir != "" {
		h.Homes = append(h.Homes, who.HomeDir)
	}
	return h
}

// Close ends the trail, which is one of its own beside that of a server, and
// delivers its records.
func (st *Hook) Close() {
	_ = errors.Join(st.trail.Close(), st.modes.Close()) // what was decided is recorded already
	st.shipping.close()
	st.observers.close()
}

// TryHook is what a hook with these settings says of a line in the working
// directory, with the environment of this process accepted. Nothing is recorded.
func TryHook(s config.Settings, line string) (string, error) {
	ev, err := NewEvaluator(s, NewLog(io.Discard))
	if err != nil {
		return "", err
	}
	dir, err := WorkingDirectory()
	if err != nil {
		return "", exit.Errorf(exit.Failure, "this directory cannot be told: %w", err)
	}
	m := ev.monitor()
	m.Trail = unrecorded{}
	h := newFront("claude-code", m)
	h.Accepted = h.Environ
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
