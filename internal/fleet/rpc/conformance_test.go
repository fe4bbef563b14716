package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff"
	"tipstaff/internal/fleet/natsx"
)

// stage is a carrier that leads to a machine, by whatever way.
type stage struct {
	carrier Carrier
	machine *machine
	loses   bool // messages
}

// conformance are the promises of a Carrier, whatever lies between.
var conformance = []struct {
	name string
	try  func(t *testing.T, s stage)
}{
	{"an answer comes as it was given", func(t *testing.T, s stage) {
		if got, err := s.carrier.Carry(t.Context(), call(deed{Say: "hello\x00\xff"}), newPerson()); string(got) != "hello\x00\uFFFD" && string(got) != "hello\x00\xff" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}},
	{"an empty answer is an answer", func(t *testing.T, s stage) {
		if got, err := s.carrier.Carry(t.Context(), call(deed{}), newPerson()); len(got) != 0 || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}},
	{"an answer of 5 MB comes whole, though no message carries more than 1 MB", func(t *testing.T, s stage) {
		got, err := s.carrier.Carry(t.Context(), call(deed{Say: "0123456789abcdefghi\n", Times: 250_000}), newPerson())
		if string(got) != strings.Repeat("0123456789abcdefghi\n", 250_000) || err != nil {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}},
	{"an error comes by its code, and nothing was started", func(t *testing.T, s stage) {
		_, err := s.carrier.Carry(t.Context(), call(deed{Fail: tipstaff.CommandNotAllowed}), newPerson())
		e := tipstaff.AsError(err)
		if e.Code != tipstaff.CommandNotAllowed || e.Rule != "rule" || e.Msg != "It is not allowed." || e.Hint != "Do something else." || e.Details["what"] != "this" || s.machine.count() != 0 {
			t.Errorf("%+v, %d started", e, s.machine.count())
		}
	}},
	{"a person is asked, and the answer comes back", func(t *testing.T, s stage) {
		p := newPerson()
		got, err := s.carrier.Carry(t.Context(), call(deed{Ask: "may it?"}), p)
		if string(got) != `they said: "yes"` || err != nil || len(p.asked) != 1 || p.asked[0] != "may it?" {
			t.Errorf("%q, %v, asked %q", got, err, p.asked)
		}
	}},
	{"how it goes is told", func(t *testing.T, s stage) {
		p := newPerson()
		done := make(chan error, 1)
		go func() {
			_, err := s.carrier.Carry(t.Context(), call(deed{Tell: "half\n", Wait: true}), p)
			done <- err
		}()
		<-p.heard
		s.machine.release <- "whole"
		if err := <-done; err != nil || p.told[0].Phase != "running" || p.told[0].Out != "half\n" {
			t.Errorf("%v, told %+v", err, p.told)
		}
	}},
	{"a call that its caller cancels ends, and says so", func(t *testing.T, s stage) {
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { <-s.machine.begun; cancel(errors.New("enough")) }()
		got, err := s.carrier.Carry(ctx, call(deed{Wait: true}), newPerson())
		if !strings.HasPrefix(string(got), "ended: ") || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}},
	{"many calls at once do not mix", func(t *testing.T, s stage) {
		const n = 50
		wrong, unknown := make(chan string, n), make(chan bool, n)
		for i := range n {
			go func() {
				want := strings.Repeat(string(rune('a'+i%26)), 40_000+i)
				got, err := s.carrier.Carry(t.Context(), call(deed{Say: want}), newPerson())
				says := ""
				if string(got) != want || err != nil {
					says = fmt.Sprintf("%q, %v", got[:min(len(got), 20)], err)
				}
				if s.loses && len(got) == 0 && tipstaff.AsError(err).Code == tipstaff.OutcomeUnknown {
					says = ""
					unknown <- true
				}
				wrong <- says
			}()
		}
		for range n {
			if w := <-wrong; w != "" {
				t.Error(w)
			}
		}
		// All that is sent for a call may be lost, by chance: that is said, and happens to few.
		if started, lost := s.machine.count(), len(unknown); started < n-lost || started > n || lost > n/10 {
			t.Errorf("%d started, and of %d the outcome is unknown", started, lost)
		}
	}},
}

// cluster is a network with a fleet, for what happens on the way.
type cluster struct {
	t       *testing.T
	net     *network
	fleet   *fleet
	claims  *claims
	runners map[string]*runnerAt
}

type runnerAt struct {
	*Runner

	at      *member
	address natsx.Address
	machine *machine
}

type gatewayAt struct {
	*Gateway

	at *member
}

func newCluster(t *testing.T) *cluster {
	return &cluster{t: t, net: newNetwork(), fleet: &fleet{}, claims: &claims{}, runners: map[string]*runnerAt{}}
}

var quiet = slog.New(slog.DiscardHandler)

// runner starts a runner with a lease.
func (w *cluster) runner(name string) *runnerAt {
	w.t.Helper()
	r := &runnerAt{at: w.net.join(), address: natsx.Address{Name: name, InstanceID: natsx.NewInstanceID()}, machine: newMachine()}
	var err error
	r.Runner, err = NewRunner(RunnerOptions{Link: r.at, Self: r.address, Verifier: trust{r.address}, Carrier: r.machine, Log: quiet})
	if err != nil {
		w.t.Fatal(err)
	}
	w.fleet.set(append(w.fleet.held, r.address)...)
	w.t.Cleanup(func() { r.Close(errors.New("the test is over")) })
	return r
}

func (w *cluster) gateway(name string) *gatewayAt {
	w.t.Helper()
	g := &gatewayAt{at: w.net.join()}
	self := natsx.Address{Name: name, InstanceID: natsx.NewInstanceID()}
	var err error
	g.Gateway, err = NewGateway(GatewayOptions{Link: g.at, Self: self, Signer: trust{self}, Fleet: w.fleet, Claims: w.claims, Log: quiet})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(g.Close)
	return g
}

func TestACarrierKeepsItsPromises(t *testing.T) {
	stages := map[string]func(t *testing.T) stage{
		"here": func(*testing.T) stage { m := newMachine(); return stage{carrier: m, machine: m} },
		"over a link": func(t *testing.T) stage {
			w := newCluster(t)
			r := w.runner("r1")
			return stage{carrier: w.gateway("g1"), machine: r.machine}
		},
		"over a slow link that loses every tenth message": func(t *testing.T) stage {
			w := newCluster(t)
			r := w.runner("r1")
			w.net.loss, w.net.delay = 0.1, time.Millisecond
			return stage{carrier: w.gateway("g1"), machine: r.machine, loses: true}
		},
	}
	for name, set := range stages {
		t.Run(name, func(t *testing.T) {
			for _, tc := range conformance {
				t.Run(tc.name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { tc.try(t, set(t)) })
				})
			}
		})
	}
}
