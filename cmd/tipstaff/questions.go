package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"tipstaff/internal/admin/api"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/front/mcpserver"
	"tipstaff/internal/monitor"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/approval"
)

// questions holds the questions that the policy leaves to people, and the ways
// by which they are answered.
type questions struct {
	store  *approval.Store
	sealer *approval.Sealer
	// door is true while people on the host can answer.
	door    atomic.Bool
	control *api.Server
}

func newQuestions(m *monitor.Monitor) (*questions, error) {
	sealer, err := approval.NewSealer()
	if err != nil {
		return nil, fail(exitFailure, "cannot make a key for approvals: %w", err)
	}
	a := &questions{sealer: sealer}
	a.store = approval.NewStore(approval.Options{Host: a.door.Load, OnLapse: m.NoteLapse})
	m.Approver = a.store
	return a, nil
}

// front returns what the front needs to have clients ask their users.
func (a *questions) front() *mcpserver.Approvals {
	return &mcpserver.Approvals{Store: a.store, Sealer: a.sealer}
}

// openDoor lets people on the host answer. A server that cannot offer this goes
// on; then commands can be approved only through clients that ask their own
// users.
func (st *stack) openDoor() {
	house := newHouse(st)
	st.freezes.OnChange = house.obey
	door, err := api.Listen(st.settings.StateDir, st.questions.store, house, st.log)
	if err != nil {
		st.log.Warn("people of this machine cannot approve of commands: 'tipstaff approve' will not find this server", "error", err)
		return
	}
	if err := st.modes.Add(api.Directory(st.settings.StateDir)); err != nil {
		st.log.Warn("a command could close the control socket to people", "error", err)
	}
	st.questions.control = door
	st.questions.door.Store(true)
}

func (a *questions) close() error {
	a.door.Store(false)
	var err error
	if a.control != nil {
		err = a.control.Close()
	}
	a.store.Close()
	return err
}

// askHere asks the person who started the command, in the terminal; nil if
// there is no terminal.
func askHere(in *os.File, out io.Writer) approval.Ask {
	if _, terminal := terminalWidth(in); !terminal { // /dev/null is a character device, too
		return nil
	}
	return func(_ context.Context, q policy.Question) (policy.Answer, error) {
		say(out, "The policy leaves this command to a person.\n\n%s\nRun it? [y/N, or why not]", strings.TrimSuffix(approval.Show(q), "\n"))
		// An interrupt ends the process without waiting for the line.
		line, err := bufio.NewReader(io.LimitReader(in, 1000)).ReadString('\n')
		if err != nil && line == "" {
			return policy.Answer{}, err
		}
		a := policy.Answer{By: osUser(), How: policy.ByTerminal}
		switch said := strings.TrimSpace(line); strings.ToLower(said) {
		case "y", "yes":
			a.Choice = policy.Once
		case "", "n", "no":
		default:
			a.Comment = cmdline.Escape(said)
		}
		return a, nil
	}
}
