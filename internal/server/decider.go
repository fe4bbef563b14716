package server

import (
	"fmt"
	"log/slog"

	"tipstaff/internal/exit"
	"tipstaff/internal/monitor"
	"tipstaff/internal/policy/decider"
	"tipstaff/internal/policy/language"
	"tipstaff/internal/redact"
	"tipstaff/internal/server/config"
)

// deciders are asked in addition to the policy: the decider of the settings and
// that of the policy file. Each can only narrow a decision, so both are asked.
type deciders struct {
	users     []int           // that may listen on this machine
	fixed     *decider.Client // of the settings; nil: none
	own       *decider.Client // of the policy file in force; nil: none
	secrets   *redact.Redactor
	telemetry telemetry
	log       *slog.Logger
}

func newDeciders(s config.Settings, secrets *redact.Redactor, t telemetry, log *slog.Logger) (*deciders, error) {
	fixed, err := deciderClient(s, secrets, log)
	return &deciders{users: s.LoopbackUsers, fixed: fixed, secrets: secrets, telemetry: t, log: log}, err
}

// beside returns the decider to ask besides a policy file, nil for none, and
// the client of the file's own decider, which is closed when another file takes
// effect.
func (d *deciders) beside(file *language.Policy) (monitor.Decider, *decider.Client, error) {
	own, err := d.ofFile(file)
	switch {
	case err != nil:
		return nil, nil, err
	case own == nil && d.fixed == nil:
		return nil, nil, nil
	case own == nil:
		return d.telemetry.decider(d.fixed), nil, nil
	case d.fixed == nil:
		return d.telemetry.decider(own), own, nil
	default:
		return d.telemetry.decider(decider.Strictest{d.fixed, own}), own, nil
	}
}

// ofFile returns a client of the decider that a policy file names; nil without
// one.
func (d *deciders) ofFile(file *language.Policy) (*decider.Client, error) {
	if file == nil {
		return nil, nil
	}
	named := file.File.Decider
	url, at := named.URL.Value, named.URL.At
	if named.Socket.At.Set() {
		url, at = "unix:"+named.Socket.Value, named.Socket.At
	}
	if !at.Set() {
		return nil, nil
	}
	c, err := decider.New(decider.Options{URL: url, Timeout: named.Timeout.D, Redactor: d.secrets, LoopbackUsers: d.users, Log: d.log})
	if err != nil {
		return nil, fmt.Errorf("%s: the decider %w", at, err)
	}
	return c, nil
}

// deciderClient returns a client of the decider of the settings; nil without
// one.
func deciderClient(s config.Settings, secrets *redact.Redactor, log *slog.Logger) (*decider.Client, error) {
	if s.Decider.Address == "" {
		return nil, nil
	}
	c, err := decider.New(decider.Options{URL: s.Decider.Address, Timeout: s.Decider.Timeout, Redactor: secrets, LoopbackUsers: s.LoopbackUsers, Log: log})
	if err != nil {
		return nil, exit.Errorf(exit.Config, "cannot start with these settings:\nTIPSTAFF_DECIDER: %w", err)
	}
	return c, nil
}
