package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"tipstaff"
	"tipstaff/internal/config"
	"tipstaff/internal/decider"
	"tipstaff/internal/monitor"
	"tipstaff/internal/policy"
	"tipstaff/internal/redact"
	"tipstaff/internal/rules"
)

// deciders are who is asked beside the policy: the decider of the settings, and
// that of the policy file. Each can only narrow, so both are asked.
type deciders struct {
	fixed   *decider.Client // of the settings; nil: none
	secrets *redact.Redactor
	watch   watchers
	log     *slog.Logger
}

func newDeciders(s config.Settings, secrets *redact.Redactor, watch watchers, log *slog.Logger) (*deciders, error) {
	fixed, err := deciderClient(s, secrets, log)
	return &deciders{fixed, secrets, watch, log}, err
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
		return d.watch.decider(d.fixed), nil, nil
	case d.fixed == nil:
		return d.watch.decider(own), own, nil
	default:
		return d.watch.decider(both{d.fixed, own}), own, nil
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

// both asks two deciders, one after the other; the stricter one counts.
type both struct{ first, second monitor.Decider }

// Judge asks the second one about nothing that the first one refuses.
func (b both) Judge(ctx context.Context, c policy.Case) policy.Finding {
	f := b.first.Judge(ctx, c)
	if f.Effect == policy.Deny {
		return f
	}
	g := b.second.Judge(ctx, c)
	switch {
	case g.Effect < f.Effect:
		return g
	case f.Effect == policy.Ask && g.Effect == policy.Ask:
		f.Msg += " " + g.Msg // a person hears of both reasons
	}
	return f
}

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

// deciderStatus is what doctor says of the decider. A nil one says nothing.
type deciderStatus struct {
	Address string `json:"address"`
	// Answer is what it said of the command "true": allow, ask or deny.
	Answer string        `json:"answer,omitempty"`
	Said   string        `json:"said,omitempty"`
	Took   time.Duration `json:"took_ns"`
	Error  string        `json:"error,omitempty"` // why nothing would run
	// Note is what the operator may want to look into.
	Note string `json:"note,omitempty"`
}

// examineDecider asks the decider of the settings about a command that runs
// nowhere; nil without one.
func examineDecider(s config.Settings) (*deciderStatus, error) {
	c, err := deciderClient(s, redact.New(redact.Secrets(s.Environ)), nil)
	if c == nil {
		return nil, err
	}
	defer c.Close()
	q := policy.Case{
		ID: "doctor", Tool: "doctor", Family: tipstaff.Execute, Origin: tipstaff.Origin{Front: "cli", Principal: "local"},
		Argv: []string{"true"}, File: "/bin/true", Dir: "/", Timeout: time.Second, Effect: policy.Allow, Rule: "default",
	}
	d := &deciderStatus{Address: c.String()}
	began := time.Now()
	f := c.Judge(context.Background(), q)
	d.Took = time.Since(began)
	switch {
	case f.Code == tipstaff.PolicyUnavailable:
		d.Error = f.Err.Error()
		return d, nil
	case f.Err != nil:
		d.Note = f.Err.Error()
	}
	d.Answer, d.Said = f.Effect.String(), f.Msg
	return d, nil
}

func (d *deciderStatus) fault() string {
	if d == nil {
		return ""
	}
	return d.Error
}

func (d *deciderStatus) print(w io.Writer) {
	switch {
	case d == nil:
	case d.Error != "":
		say(w, "✘ decider: %s cannot be asked, and without it nothing runs: %s", d.Address, d.Error)
		say(w, "  start it, mend the address in TIPSTAFF_DECIDER, or unset TIPSTAFF_DECIDER")
	case d.Note != "":
		say(w, "! decider: %s answers in %v, and nothing that counts: %s", d.Address, d.Took.Round(10*time.Microsecond), d.Note)
	default:
		say(w, "✔ decider: %s answers in %v; of the command true it says %s", d.Address, d.Took.Round(10*time.Microsecond), d.Answer)
	}
}
