package rpc

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff"
	"tipstaff/internal/fleet/natsx"
)

func TestBadMessagesAreRefusedByName(t *testing.T) {
	in(t, func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt) {
		big := call(deed{Say: strings.Repeat("x", 1<<20)})
		if got := <-carry(t.Context(), g, big, newPerson()); got.code() != tipstaff.InvalidParameters || !strings.Contains(got.err.Msg, "carries 1048576 at most; nothing ran") {
			t.Errorf("too large: %+v", got)
		}
		var reasons []natsx.Reason
		r.opts.Refused = func(why natsx.Reason) { reasons = append(reasons, why) }
		sign := g.opts.Signer
		g.opts.Signer = signer(func(natsx.Statement, []byte) ([]byte, error) { return []byte("none"), nil })
		if got := <-carry(t.Context(), g, call(deed{}), newPerson()); got.code() != tipstaff.Unavailable || got.err.Details["reason"] != string(natsx.Unsigned) {
			t.Errorf("unsigned: %+v", got)
		}
		g.opts.Signer = signer(func(st natsx.Statement, m []byte) ([]byte, error) {
			st.Caller.Principal = "eve"
			return sign.Sign(st, m)
		})
		if got := <-carry(t.Context(), g, call(deed{}), newPerson()); got.code() != tipstaff.Unavailable || got.err.Details["reason"] != string(natsx.OtherMessage) {
			t.Errorf("of another caller: %+v", got)
		}
		g.opts.Signer = signer(func(st natsx.Statement, m []byte) ([]byte, error) {
			st.NotAfter = time.Now().Add(-time.Hour)
			return sign.Sign(st, m)
		})
		if got := <-carry(t.Context(), g, call(deed{}), newPerson()); got.code() != tipstaff.Unavailable || got.err.Details["reason"] != string(natsx.TooOld) {
			t.Errorf("of a clock that is an hour behind: %+v", got)
		}
		want := []natsx.Reason{natsx.Unsigned, natsx.OtherMessage, natsx.TooOld}
		if r.machine.count() != 0 || !slices.Equal(reasons, want) {
			t.Errorf("%d started, reasons %v", r.machine.count(), reasons)
		}
	})
}

type signer func(natsx.Statement, []byte) ([]byte, error)

func (f signer) Sign(st natsx.Statement, m []byte) ([]byte, error) { return f(st, m) }

func TestACallOfAnotherVersionIsRefused(t *testing.T) {
	in(t, func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt) {
		token := strings.Repeat("x", tokenSize)
		k := call(deed{Say: "x"})
		k.ID = "cmd_1"
		body, _ := json.Marshal(request{Version: 2, Token: token, Call: k})
		statement, _ := g.opts.Signer.Sign(natsx.Statement{Runner: r.address.String(), Verb: verbCall, Command: k.ID, Caller: natsx.Caller{Principal: "ann"}, NotAfter: time.Now().Add(time.Minute)}, body)
		heard := make(chan natsx.Message, 1)
		var reason natsx.Reason
		r.opts.Refused = func(why natsx.Reason) { reason = why }
		to := g.opts.Self.Answers(r.address, token)
		stop, err := g.at.Subscribe(to, func(m natsx.Message) { heard <- m })
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		_ = g.at.Publish(r.address.Asks(verbCall), to, enclose(statement, body))
		m := <-heard
		if e := tipstaff.AsError(decodeError(m.Data[frameHeader:], r.address)); m.Data[0] != frameRefused || !strings.Contains(e.Msg, "version 2 of calls and the runner 1; nothing ran") {
			t.Errorf("%s", m.Data)
		}
		if reason != natsx.OtherVersion {
			t.Errorf("the operator is told of %q", reason)
		}
	})
}

func TestMangledMessagesDoNothing(t *testing.T) {
	in(t, func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt) {
		got := carry(t.Context(), g, call(deed{Wait: true}), newPerson())
		<-r.machine.begun
		for _, data := range []string{"", "x", strings.Repeat("x", 30), strings.Repeat("\xff", 60), "\x00\x00\x00\x04none", "\xff\xff\xff\xff"} {
			for _, verb := range []string{verbCall, verbCredit, verbCancel, verbAnswer, "other"} {
				_ = g.at.Publish(r.address.Asks(verb), "", []byte(data))
			}
			g.mu.Lock()
			for token := range g.calls {
				_ = r.at.Publish(g.opts.Self.Answers(r.address, token), "", []byte(data))
				_ = r.at.Publish(g.opts.Self.Answers(natsx.Address{Name: "r2"}, token), "", frame(frameEnd, 0, []byte("forged")))
			}
			g.mu.Unlock()
		}
		synctest.Wait()
		r.machine.release <- "true"
		if got := <-got; got.answer != "true" || r.machine.count() != 1 {
			t.Errorf("%+v, %d started", got, r.machine.count())
		}
	})
}
