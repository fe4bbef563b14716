package doctor

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tipstaff/internal/fleet"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/natsx/enginetest"
)

func gatewayAt(url string) EngineOptions {
	return EngineOptions{Members: []EngineMember{{Role: natsx.Gateway, Options: natsx.Options{Servers: []string{url}, Role: natsx.Gateway, Name: "g1"}}}}
}

func TestDoctorLooksAtTheEngine(t *testing.T) {
	t.Parallel()
	if d := ExamineEngine(t.Context(), EngineOptions{}); d != nil || d.findings() != nil {
		t.Errorf("without an engine: %+v", d)
	}
	s := enginetest.Start(t)
	expect := func(what string, d *Engine, wants ...string) {
		t.Helper()
		got := shown(d.findings())
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", what, want, got)
			}
		}
	}
	expect("before a gateway has made anything", ExamineEngine(t.Context(), gatewayAt(s.URL())), "✘ engine:", "JetStream does not answer", "gateways make what is missing")

	g := s.Connect(natsx.Gateway, "g2")
	if err := g.MakeStreams(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	r := s.Connect(natsx.Runner, "r1")
	lease, err := json.Marshal(fleet.Lease{Capacity: 1, Clock: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.PutLease(t.Context(), natsx.Address{Name: "r1", InstanceID: natsx.NewInstanceID()}, lease); err != nil {
		t.Fatal(err)
	}
	o := gatewayAt(s.URL())
	o.Clear, o.Pings = []string{"nats://far:4222"}, true
	d := ExamineEngine(t.Context(), o)
	expect("a runner whose clock is off, the server's own pings", d, "✔ engine:", "with JetStream; runners with a lease: 1", "! engine: clocks of runners are off: r1 by 1h0m0s", "! engine: nats://far:4222 is reached without encryption", "pings its clients too seldom")
	if (&Diagnosis{Fleet: d}).Refuses() {
		t.Error("doubts are told as refusals")
	}
	op := EngineOptions{Members: []EngineMember{{Role: natsx.Operator, Options: natsx.Options{Servers: []string{s.URL()}, Role: natsx.Operator, Name: "ops"}}}}
	expect("an operator", ExamineEngine(t.Context(), op), "✔ engine:", "to this operator; runners to look after: 1")
	offset := time.Hour
	expect("this machine's clock", &Engine{Server: "x", Offset: &offset}, "this machine's clock is 1h0m0s away")

	o = gatewayAt(s.URL())
	o.Check = errors.New("TIPSTAFF_ENGINE_SEAL is not set")
	d = ExamineEngine(t.Context(), o)
	expect("settings that lack something", d, "✘ engine:", "TIPSTAFF_ENGINE_SEAL is not set")
	if !(&Diagnosis{Fleet: d}).Refuses() {
		t.Error("a fault is not told as a refusal")
	}

	s.Stop()
	expect("no server", ExamineEngine(t.Context(), gatewayAt(s.LastURL())), "✘ engine:", "cannot be reached", "connection refused")
}

func TestDoctorSaysThatAKeyIsForSomethingElse(t *testing.T) {
	t.Parallel()
	seed, public, err := natsx.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	text, err := natsx.ServerConfig{Listen: "127.0.0.1:4222", Store: t.TempDir(), Members: []natsx.Member{{Roles: []natsx.Role{natsx.Runner}, Name: "r1", Key: public}}}.Text()
	if err != nil {
		t.Fatal(err)
	}
	s := enginetest.StartFile(t, write("nats.conf", text))
	for name, tt := range map[string]struct{ key, want string }{
		"the key of another role": {write("seed", seed), "its key has another role or name there"},
		"no key":                  {"", "uthorization"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := gatewayAt(s.URL())
			o.Members[0].Options.Credentials = tt.key
			if got := shown(ExamineEngine(t.Context(), o).findings()); !strings.Contains(got, tt.want) {
				t.Error(got)
			}
		})
	}
	o := gatewayAt(s.URL())
	o.Members[0].Options.Credentials = write("seed2", seed)
	o.Members[0].Options.Role, o.Members[0].Role, o.Members[0].Options.Name = natsx.Runner, natsx.Runner, "r1"
	gap, err := natsx.ServerPings(t.Context(), o.Members[0].Options)
	if err != nil || gap == 0 || gap > natsx.SlowPings {
		t.Errorf("a server as engine config has it pings every %v, %v", gap, err)
	}
}
