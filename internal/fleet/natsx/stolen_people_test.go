package natsx_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"

	"tipstaff/internal/fleet/natsx"
)

// amongPeople is what a thief of a runner's or a gateway's key tries where operators
// and members speak with each other.
var amongPeople = []attempt{
	{"listens to what operators ask of another runner", func(f *field) bool {
		return f.overhears("tip1.p.r.r2.>", "", f.wish) || f.overhears("tip1.p.>", "", f.wish)
	}},
	overhearsTold,
	{"asks another runner as an operator", func(f *field) bool { return f.sends("hears", f.peer(natsx.Runner).Hears()) }},
	{"asks another gateway as an operator", func(f *field) bool { return f.sends("hears", f.peer(natsx.Gateway).Hears()) }},
	tellsForAnother,
	{"has JetStream tell an operator something for another runner", func(f *field) bool {
		f.freezes()
		before := f.operator.Foreign()
		_ = f.stolen.PublishRequest("$JS.API.DIRECT.GET.KV_tip1_frozen", f.peer(natsx.Runner).Tells(f.p, f.token), []byte(`{"last_by_subj":"$KV.tip1_frozen.honest"}`))
		_ = f.asks("$JS.API.DIRECT.GET.KV_tip1_frozen", []byte(`{"last_by_subj":"$KV.tip1_frozen.honest"}`)) // answered after it
		return f.heard("operator", "honest") || f.operator.Foreign() > before
	}},
	{"writes who is frozen", func(f *field) bool { return f.asks("$KV.tip1_frozen.stranger", []byte("forged")) != nil }},
	{"lifts what is frozen", func(f *field) bool {
		f.freezes()
		if err := f.stolen.PublishMsg(&nats.Msg{Subject: "$KV.tip1_frozen.honest", Header: nats.Header{"KV-Operation": {"DEL"}}}); err != nil {
			f.t.Fatal(err)
		}
		f.settle()
		ctx := within(f.t)
		lifted := func() bool {
			all, err := f.operator.Frozen(ctx)
			if err != nil {
				f.t.Fatal(err)
			}
			return !slices.ContainsFunc(all, func(k natsx.FrozenKey) bool { return k.Key == "honest" })
		}
		for f.control && !lifted() { // the stream stores it some time later
			runtime.Gosched()
		}
		return lifted()
	}},
	{"empties the bucket of freezes", func(f *field) bool { return f.asks("$JS.API.STREAM.DELETE.KV_tip1_frozen", []byte{}) != nil }},
}

// tellsForAnother and overhearsTold are tried with every key.
var (
	tellsForAnother = attempt{"answers an operator for another runner", func(f *field) bool {
		return f.sends("operator", f.peer(natsx.Runner).Tells(f.p, f.token)) || f.sends("operator", f.peer(natsx.Gateway).Tells(f.p, f.token))
	}}
	overhearsTold = attempt{"listens to what operators are told", func(f *field) bool {
		tell := func() { f.publish(f.runner, f.peer(natsx.Runner).Tells(f.p, f.token)) }
		return f.overhears("tip1.q.p1.>", "", tell) || f.overhears("tip1.q.>", "", tell)
	}}
)

var readsAllLeases = attempt{"reads all leases as operators do", func(f *field) bool {
	f.lease(f.runner, "r", f.r)
	return f.asks("$JS.API.DIRECT.GET.KV_tip1_runners", []byte(`{"seq":1,"next_by_subj":"$KV.tip1_runners.>"}`)) != nil
}}

// byAnOperator is what a thief of an operator's key for NATS tries beyond what
// operators do.
var byAnOperator = []attempt{
	{"calls a runner", func(f *field) bool { return f.sends("runner", f.r.Asks("call")) }},
	{"answers a gateway for a runner", func(f *field) bool { return f.sends("gateway", f.g.Answers(f.r, f.token)) }},
	{"listens to calls and answers", func(f *field) bool {
		return f.overhears("tip1.r.>", "", f.call) || f.overhears("tip1.g.>", "", f.answer)
	}},
	{"listens to what other operators ask", func(f *field) bool { return f.overhears("tip1.p.>", "", f.wish) }},
	{"writes a lease", func(f *field) bool { return f.asks(f.lease(f.runner, "r", f.r), []byte(`{}`)) != nil }},
	{"writes a pulse", func(f *field) bool { return f.asks(f.lease(f.gateway, "g", f.g), []byte(`{}`)) != nil }},
	{"writes into the copy of a trail", func(f *field) bool { return f.asks("tip1.a.0.r2.trail", []byte("forged")) != nil }},
	{"reads the copy of a trail", func(f *field) bool {
		return f.asks("$JS.API.STREAM.INFO.AUDIT_1", []byte{}) != nil
	}},
	{"has JetStream call a runner, by a consumer that delivers there", func(f *field) bool {
		f.lease(f.runner, "r", f.r)
		return f.asks(consumer+"c1", map[string]any{"stream_name": "KV_tip1_runners", "config": map[string]any{"name": "c1", "deliver_subject": f.r.Asks("call"), "ack_policy": "none", "deliver_policy": "all"}}) != nil
	}},
	{"empties the bucket of freezes", func(f *field) bool { return f.asks("$JS.API.STREAM.DELETE.KV_tip1_frozen", []byte{}) != nil }},
}

func (f *field) wish() { f.publish(f.operator, f.peer(natsx.Runner).Hears()) }

// freezes writes an entry as an operator does.
func (f *field) freezes() {
	f.t.Helper()
	var after uint64
	all, err := f.operator.Frozen(within(f.t))
	if err != nil {
		f.t.Fatal(err)
	}
	for _, k := range all {
		if k.Key == "honest" {
			after = k.Sequence
		}
	}
	if after > 0 {
		return
	}
	if err := f.operator.PutFrozen(within(f.t), "honest", after, []byte("honest")); err != nil {
		f.t.Fatal(err)
	}
}

func TestOperatorsMayDoWhatTheyDo(t *testing.T) {
	t.Parallel()
	text, keys := configuration(t)
	f := newField(t, text, keys)
	f.lease(f.runner, "r", f.r)
	f.lease(f.gateway, "g", f.g)
	peers, err := f.operator.Peers(within(t))
	if err != nil || len(peers) != 2 || peers[0].Peer != f.peer(natsx.Runner) || peers[1].Peer != f.peer(natsx.Gateway) || string(peers[0].Value) != "honest" {
		t.Errorf("%+v, %v", peers, err)
	}
	f.freezes()
	for who, c := range map[string]*natsx.Conn{"the operator": f.operator, "the runner": f.runner, "the gateway": f.gateway} {
		if all, err := c.Frozen(within(t)); err != nil || len(all) != 1 || all[0].Key != "honest" || string(all[0].Data) != "honest" || all[0].Sequence == 0 {
			t.Errorf("%s reads %+v, %v", who, all, err)
		}
	}
	if err := f.operator.PutFrozen(within(t), "honest", 0, []byte("again")); err == nil {
		t.Error("what another operator wrote was written over")
	}
	f.wish()
	f.publish(f.runner, f.peer(natsx.Runner).Tells(f.p, f.token))
	f.publish(f.gateway, f.peer(natsx.Gateway).Tells(f.p, f.token))
	for _, who := range []string{"hears", "operator"} {
		if !f.heard(who, "secret") {
			t.Errorf("%s hears nothing", who)
		}
	}
	if err := f.gateway.MakeStreams(within(t), 0); err != nil {
		t.Errorf("what is there cannot be made again: %v", err)
	}
	for who, c := range map[string]*natsx.Conn{"the operator": f.operator, "the runner": f.runner, "the gateway": f.gateway} {
		if n := c.Refused(); n > 0 {
			t.Errorf("%s was refused %d times", who, n)
		}
	}
}

func TestManyKeysAreReadInTheirOrder(t *testing.T) {
	t.Parallel()
	text, keys := configuration(t)
	f := newField(t, text, keys)
	if all, err := f.runner.Frozen(within(t)); err != nil || len(all) != 0 {
		t.Errorf("an empty bucket: %v, %v", all, err)
	}
	const n = 1201 // three batches
	for i := range n {
		if err := f.operator.PutFrozen(within(t), natsx.InstanceID{byte(i >> 8), byte(i)}.String(), 0, []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := f.runner.Frozen(within(t))
	if err != nil || len(all) != n {
		t.Fatalf("%d keys, %v", len(all), err)
	}
	for i, k := range all {
		if k.Data[0] != byte(i) {
			t.Fatalf("key %d is %+v", i, k)
		}
	}
}
