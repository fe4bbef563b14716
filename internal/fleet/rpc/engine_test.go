package rpc

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/natsx/enginetest"
)

// overServer is a stage over real NATS servers, with real keys.
type overServer struct {
	server  *enginetest.Server // of the gateway
	fleet   *fleet
	runner  *Runner
	gateway *Gateway
	machine *machine
}

func newOverServer(t testing.TB, trusted bool) *overServer {
	t.Helper()
	s := enginetest.Start(t)
	return newOverServers(t, trusted, s, s)
}

// newOverServers has the gateway at one server and the runner at another.
func newOverServers(t testing.TB, trusted bool, here, there *enginetest.Server) *overServer {
	t.Helper()
	o := &overServer{server: here, fleet: &fleet{}, machine: newMachine()}
	seed, public, err := natsx.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(seed), 0o600); err != nil {
		t.Fatal(err)
	}
	g := natsx.Address{Name: "g1", InstanceID: natsx.NewInstanceID()}
	r := natsx.Address{Name: "r1", InstanceID: natsx.NewInstanceID()}
	signer, err := natsx.NewSigner(file, g, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	known := natsx.Gateways{}
	if trusted {
		known[public] = "g1"
	}
	o.runner, err = NewRunner(RunnerOptions{Link: Over(there.Connect(natsx.Runner, "r1")), Self: r, Verifier: natsx.NewVerifier(r, known, time.Now), Carrier: o.machine, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	o.gateway, err = NewGateway(GatewayOptions{Link: Over(here.Connect(natsx.Gateway, "g1")), Self: g, Signer: signer, Fleet: o.fleet, Claims: &claims{}, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	o.fleet.set(r)
	t.Cleanup(func() { o.runner.Close(errors.New("the test is over")); o.gateway.Close() })
	return o
}

func TestACarrierKeepsItsPromisesOverAServer(t *testing.T) { keeps(t, newOverServer(t, true)) }

// TestACarrierKeepsItsPromisesOverThreeServers: the gateway is at one, the runner at
// another, and the third is there.
func TestACarrierKeepsItsPromisesOverThreeServers(t *testing.T) {
	all := enginetest.Cluster(t)
	keeps(t, newOverServers(t, true, all[0], all[1]))
}

func keeps(t *testing.T, o *overServer) {
	t.Helper()
	for _, tc := range conformance {
		t.Run(tc.name, func(t *testing.T) {
			o.machine.forget()
			tc.try(t, stage{carrier: o.gateway, machine: o.machine})
		})
	}
}

// forget begins to count anew.
func (m *machine) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.started)
	for len(m.begun) > 0 {
		<-m.begun
	}
}

func TestARunnerTakesNothingOfAGatewayThatItDoesNotKnow(t *testing.T) {
	o := newOverServer(t, false)
	_, err := o.gateway.Carry(t.Context(), call(deed{Say: "x"}), newPerson())
	if e := tipstaff.AsError(err); e.Code != tipstaff.Unavailable || !strings.Contains(e.Msg, "(unknown_signer); nothing ran") || o.machine.count() != 0 {
		t.Errorf("%v, %d started", err, o.machine.count())
	}
}

func TestACallOutlivesARestartOfTheServer(t *testing.T) {
	o := newOverServer(t, true)
	got := carry(t.Context(), o.gateway, call(deed{Wait: true}), newPerson())
	<-o.machine.begun
	o.server.Stop()
	o.server.Start()
	o.machine.release <- "whole"
	if got := <-got; got.answer != "whole" || got.err != nil || o.machine.count() != 1 {
		t.Errorf("%+v, %d started", got, o.machine.count())
	}
}

func BenchmarkACallOverAServer(b *testing.B) {
	o := newOverServer(b, true)
	go func() {
		for range o.machine.begun { // nobody waits for it
		}
	}()
	p := newPerson()
	for b.Loop() {
		if _, err := o.gateway.Carry(b.Context(), call(deed{Say: "x"}), p); err != nil {
			b.Fatal(err)
		}
	}
}
