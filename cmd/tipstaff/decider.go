package main

import (
	"fmt"
	"log/slog"

	"tipstaff/internal/config"
	"tipstaff/internal/decider"
	"tipstaff/internal/monitor"
	"tipstaff/internal/redact"
	"tipstaff/internal/rules"
)

// deciders are who is asked beside the policy: the decider of the settings, and
// that of the policy file. Each can only narrow, so both are asked.
type deciders struct {
	fixed     *decider.Client // of the settings; nil: none
	own       *decider.Client // of the policy file that decides; nil: none
	secrets   *redact.Redactor
	telemetry telemetry
	log       *slog.Logger
}

func newDeciders(s config.Settings, secrets *redact.Redactor, t telemetry, log *slog.Logger) (*deciders, error) {
	fixed, err := deciderClient(s, secrets, log)
	return &deciders{fixed: fixed, secrets: secrets, telemetry: t, log: log}, err
}

// beside gives who is asked beside a policy file, nil for none; and the client of
// the file's own decider, which is closed when another file decides.
func (d *deciders) beside(file *rules.Policy) (monitor.Decider, *decider.Client, error) {
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

// ofFile makes the client of the decider that a policy file names; nil without one.
func (d *deciders) ofFile(file *rules.Policy) (*decider.Client, error) {
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
	c, err := decider.New(decider.Options{URL: url, Timeout: named.Timeout.D, Redactor: d.secrets, Log: d.log})
	if err != nil {
		return nil, fmt.Errorf("%s: the decider %w", at, err)
	}
	return c, nil
}

// deciderClient makes the client of the decider of the settings; nil without one.
func deciderClient(s config.Settings, secrets *redact.Redactor, log *slog.Logger) (*decider.Client, error) {
	if s.Decider.Address == "" {
		return nil, nil
	}
	c, err := decider.New(decider.Options{URL: s.Decider.Address, Timeout: s.Decider.Timeout, Redactor: secrets, Log: log})
	if err != nil {
		return nil, fail(exitConfig, "cannot start with these settings:\nTIPSTAFF_DECIDER: %w", err)
	}
	return c, nil
}
