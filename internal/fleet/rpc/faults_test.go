package rpc

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff"
	"tipstaff/internal/fleet/natsx"
)

// outcome is what a caller got.
type outcome struct {
	answer string
	err    *tipstaff.Error // nil: none
	took   time.Duration
}

// carry makes a call, and sends what came of it.
func carry(ctx context.Context, c Carrier, k Call, p *person) <-chan outcome {
	got := make(chan outcome, 1)
	go func() {
		began := time.Now()
		answer, err := c.Carry(ctx, k, p)
		o := outcome{answer: string(answer), took: time.Since(began)}
		if err != nil {
			o.err = tipstaff.AsError(err)
		}
		got <- o
	}()
	return got
}

func (o outcome) code() tipstaff.Code {
	if o.err == nil {
		return ""
	}
	return o.err.Code
}

// in runs a test with a runner and a gateway in a bubble.
func in(t *testing.T, try func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t)
		try(t, w, w.runner("r1"), w.gateway("g1"))
	})
}

func TestARunnerThatSaysNoIsBelievedAndAnotherIsAskedOnlyWhereAnyWillDo(t *testing.T) {
	in(t, func(t *testing.T, w *cluster, r1 *runnerAt, g *gatewayAt) {
		r2 := w.runner("r2")
		full := &tipstaff.Error{Code: tipstaff.Busy, Msg: "full"}
		r1.opts.Admit = func(Call) error { return full }
		if got := <-carry(t.Context(), g, call(deed{Say: "x"}), newPerson()); got.answer != "x" || r1.machine.count() != 0 || r2.machine.count() != 1 {
			t.Errorf("any runner: %+v", got)
		}
		r2.opts.Admit = r1.opts.Admit
		if got := <-carry(t.Context(), g, call(deed{Say: "x"}), newPerson()); got.code() != tipstaff.Busy {
			t.Errorf("all are full: %+v", got)
		}
		in1 := call(deed{Fail: tipstaff.Busy})
		in1.Target = "term-x@" + r1.address.String()
		if got := <-carry(t.Context(), g, in1, newPerson()); got.err == nil || got.err.Msg != "It is not allowed." {
			t.Errorf("in a session: %+v", got)
		}
	})
}

func TestARunnerWhoseLeaseIsGoneIsLostAndNothingRan(t *testing.T) {
	in(t, func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt) {
		k := call(deed{Say: "x"})
		k.Target = "term-x@" + r.address.String()
		w.fleet.set()
		if got := <-carry(t.Context(), g, k, newPerson()); got.code() != tipstaff.SessionLost || got.took != 0 {
			t.Errorf("%+v", got)
		}
		k.Target = "term-x"
		if got := <-carry(t.Context(), g, k, newPerson()); got.code() != tipstaff.SessionNotFound {
			t.Errorf("an id that leads nowhere: %+v", got)
		}
		k.Target = "cmd_x"
		if got := <-carry(t.Context(), g, k, newPerson()); got.code() != tipstaff.CommandNotFound {
			t.Errorf("a command's id that leads nowhere: %+v", got)
		}
		if r.machine.count() != 0 {
			t.Error("something ran")
		}
	})
}

func TestARunnerThatStopsToListenIsLostWhenItsLeaseEnds(t *testing.T) {
	in(t, func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt) {
		k := call(deed{Say: "x"})
		k.Target = "term-x@" + r.address.String()
		w.net.set(func() { r.at.down = true })
		got := carry(t.Context(), g, k, newPerson())
		time.Sleep(2500 * time.Millisecond)
		w.fleet.set()
		if got := <-got; got.code() != tipstaff.SessionLost || got.took > 4*time.Second {
			t.Errorf("%+v", got)
		}
	})
}

func TestARunnerThatDoesNotListenButHoldsItsLeaseIsUnavailableAfterThePatience(t *testing.T) {
	in(t, func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt) {
		w.net.set(func() { r.at.down = true })
		if got := <-carry(t.Context(), g, call(deed{Say: "x"}), newPerson()); got.code() != tipstaff.Unavailable || got.took < DefaultPatience || got.took > DefaultPatience+2*time.Second {
			t.Errorf("%+v", got)
		}
		w.net.set(func() { r.at.down = false })
		time.Sleep(time.Minute)
		if r.machine.count() != 0 {
			t.Error("it ran after all")
		}
	})
}

func TestAGatewayWithoutConnectionSendsNothingThenAndNothingLater(t *testing.T) {
	in(t, func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt) {
		w.net.set(func() { g.at.down = true })
		got := <-carry(t.Context(), g, call(deed{Say: "x"}), newPerson())
		w.net.set(func() { g.at.down = false })
		time.Sleep(time.Minute)
		if got.code() != tipstaff.Unavailable || r.machine.count() != 0 {
			t.Errorf("%+v, %d started", got, r.machine.count())
		}
	})
}

func TestAShortCallTakesThreeMessagesAndALongOneGivesSignsOfLife(t *testing.T) {
	in(t, func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt) {
		sent := func() (now map[string]int) { // since it was asked last
			synctest.Wait()
			w.net.set(func() { now = maps.Clone(w.net.sent); clear(w.net.sent) })
			return now
		}
		if got := <-carry(t.Context(), g, call(deed{Say: "x"}), newPerson()); got.answer != "x" {
			t.Fatalf("%+v", got)
		}
		if got, want := sent(), map[string]int{"call": 1, "z": 1, "credit": 1}; !maps.Equal(got, want) {
			t.Errorf("the messages of a short call: %v", got)
		}
		got := carry(t.Context(), g, call(deed{Wait: true}), newPerson())
		time.Sleep(takenAfter + time.Millisecond)
		if got, want := sent(), map[string]int{"call": 1, "h": 1}; !maps.Equal(got, want) {
			t.Errorf("the messages of a call that goes on: %v", got)
		}
		r.machine.release <- "x"
		if got := <-got; got.answer != "x" {
			t.Errorf("%+v", got)
		}
	})
}

func TestShortBreaksAreNotNoticed(t *testing.T) {
	breaks := map[string]func(w *cluster, r *runnerAt, g *gatewayAt, on bool){
		"the gateway connects again":      func(_ *cluster, _ *runnerAt, g *gatewayAt, on bool) { g.at.down = on },
		"the runner connects again":       func(_ *cluster, r *runnerAt, _ *gatewayAt, on bool) { r.at.down = on },
		"the link of the runner is cut":   func(_ *cluster, r *runnerAt, _ *gatewayAt, on bool) { r.at.cut = on },
		"the link of the gateway is cut":  func(_ *cluster, _ *runnerAt, g *gatewayAt, on bool) { g.at.cut = on },
		"nothing reaches the gateway":     func(w *cluster, _ *runnerAt, _ *gatewayAt, on bool) { w.loseTo("tip1.g.", on) },
		"nothing reaches the runner":      func(w *cluster, _ *runnerAt, _ *gatewayAt, on bool) { w.loseTo("tip1.r.", on) },
		"nothing but the first goes over": func(w *cluster, _ *runnerAt, _ *gatewayAt, on bool) { w.loseTo("tip1.", on) },
	}
	for name, set := range breaks {
		for _, when := range []string{"before the call", "while it runs"} {
			t.Run(name+" "+when, func(t *testing.T) {
				in(t, func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt) {
					on := func(b bool) { w.net.set(func() { set(w, r, g, b) }) }
					if when == "before the call" {
						on(true)
					}
					got := carry(t.Context(), g, call(deed{Wait: true}), newPerson())
					if when != "before the call" {
						<-r.machine.begun
						on(true)
					}
					time.Sleep(3500 * time.Millisecond)
					on(false)
					r.machine.release <- strings.Repeat("whole ", 100_000)
					if got := <-got; len(got.answer) != 600_000 || got.err != nil || r.machine.count() != 1 {
						t.Errorf("%d bytes, %v, %d started", len(got.answer), got.err, r.machine.count())
					}
				})
			})
		}
	}
}

// loseTo loses all messages to subjects that begin so.
func (w *cluster) loseTo(prefix string, on bool) {
	w.net.drop = nil
	if on {
		w.net.drop = func(m natsx.Message) bool { return strings.HasPrefix(m.Subject, prefix) }
	}
}

func TestSilenceAfterACallWasSentIsAnOpenOutcomeThatCanBeAskedLater(t *testing.T) {
	in(t, func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt) {
		got := carry(t.Context(), g, call(deed{Tell: "line 1\n", Wait: true}), newPerson())
		id := <-r.machine.begun
		synctest.Wait()
		w.net.set(func() { r.at.cut = true })
		o := <-got
		if o.code() != tipstaff.OutcomeUnknown || o.took < DefaultPatience || o.took > DefaultPatience+2*time.Second ||
			o.err.Details["command_id"] != id || o.err.Details["stdout"] != "line 1\n" || !strings.Contains(o.err.Hint, "line 1") {
			t.Errorf("%+v", o)
		}
		// The runner, too, hears nothing: it ends what it was told to do in the
		// foreground.
		time.Sleep(10 * time.Second)
		if got := r.machine.end(id); got != "ended: the call was cancelled" {
			t.Errorf("on the runner: %q", got)
		}
		w.net.set(func() { r.at.cut = false })
		later := call(deed{Tell: "line 1\n", Wait: true, ID: id})
		for range 2 {
			if got := <-carry(t.Context(), w.gateway("g2"), later, newPerson()); got.answer != "ended: the call was cancelled" || got.err != nil {
				t.Errorf("asked later: %+v", got)
			}
		}
		if got := <-carry(t.Context(), g, call(deed{Say: "x", ID: "cmd_y@nowhere"}), newPerson()); got.code() != tipstaff.OutcomeUnknown {
			t.Errorf("asked with an id that leads nowhere any more: %+v", got)
		}
		time.Sleep(time.Hour)
		if got := <-carry(t.Context(), g, later, newPerson()); got.code() != tipstaff.CommandNotFound {
			t.Errorf("asked when it is forgotten: %+v", got)
		}
		w.fleet.set()
		if got := <-carry(t.Context(), g, later, newPerson()); got.code() != tipstaff.OutcomeUnknown {
			t.Errorf("asked when the runner is gone: %+v", got)
		}
		if r.machine.count() != 1 {
			t.Errorf("%d started", r.machine.count())
		}
	})
}

func TestWhatReadsIsNotAnOpenOutcome(t *testing.T) {
	in(t, func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt) {
		k := call(deed{Wait: true})
		k.Reads = true
		got := carry(t.Context(), g, k, newPerson())
		<-r.machine.begun
		w.net.set(func() { r.at.cut = true })
		if got := <-got; got.code() != tipstaff.Unavailable {
			t.Errorf("%+v", got)
		}
	})
}

func TestAMessageThatComesTooLateStartsNothing(t *testing.T) {
	in(t, func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt) {
		w.net.delay = 20 * time.Second
		got := <-carry(t.Context(), g, call(deed{Say: "x"}), newPerson())
		time.Sleep(time.Minute)
		if got.code() != tipstaff.OutcomeUnknown || r.machine.count() != 0 {
			t.Errorf("%+v, %d started", got, r.machine.count())
		}
	})
}

func TestWhenAGatewayDies(t *testing.T) {
	for _, tc := range []struct {
		name  string
		stays bool
		back  time.Duration // when the client comes back with the same call
		want  string
	}{
		{"a client that comes back in time finds its command", false, 3 * time.Second, "finished"},
		{"what runs in the foreground ends without credit", false, 20 * time.Second, "ended: the call was cancelled"},
		{"what runs in the background goes on", true, 20 * time.Second, "finished"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt) {
				k := call(deed{Wait: true, ID: "mine", Ask: ""})
				k.Stays = tc.stays
				carry(t.Context(), g, k, newPerson())
				<-r.machine.begun
				synctest.Wait()
				w.net.set(func() { g.at.cut = true }) // for good
				time.Sleep(tc.back)
				second := carry(t.Context(), w.gateway("g2"), k, newPerson())
				synctest.Wait()
				r.machine.release <- "finished"
				if got := <-second; got.answer != tc.want || got.err != nil || r.machine.count() != 1 {
					t.Errorf("%+v, %d started", got, r.machine.count())
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

func TestOneThatJoinsLearnsWhatHappenedBeforeAndCanAnswerTheQuestion(t *testing.T) {
	in(t, func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt) {
		k := call(deed{Tell: "half\n", Ask: "may it?", ID: "mine"})
		absent := newPerson()
		first := carry(t.Context(), silentAsk{g}, k, absent)
		<-r.machine.begun
		synctest.Wait()
		p := newPerson()
		second := <-carry(t.Context(), w.gateway("g2"), k, p)
		if second.answer != `they said: "yes"` || len(p.told) == 0 || p.told[0].Out != "half\n" {
			t.Errorf("the second: %+v, told %+v", second, p.told)
		}
		if got := <-first; got.answer != second.answer || r.machine.count() != 1 {
			t.Errorf("the first: %+v, %d started", got, r.machine.count())
		}
	})
}

// silentAsk is a carrier whose person never answers.
type silentAsk struct{ Carrier }

func (s silentAsk) Carry(ctx context.Context, c Call, at Caller) ([]byte, error) {
	return s.Carrier.Carry(ctx, c, mute{at})
}

type mute struct{ Caller }

func (mute) Ask(ctx context.Context, _ []byte) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestAClientThatMayReturnHasTheGraceForIt(t *testing.T) {
	in(t, func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt) {
		k, p := call(deed{Wait: true, ID: "mine"}), newPerson()
		p.returns = true
		ctx, cut := context.WithCancel(t.Context())
		first := carry(ctx, g, k, p)
		<-r.machine.begun
		cut()
		if got := <-first; got.code() != tipstaff.OutcomeUnknown {
			t.Errorf("the first: %+v", got)
		}
		time.Sleep(4 * time.Second)
		second := carry(t.Context(), w.gateway("g2"), k, newPerson())
		time.Sleep(time.Minute)
		r.machine.release <- "finished"
		if got := <-second; got.answer != "finished" || r.machine.count() != 1 {
			t.Errorf("the second: %+v", got)
		}
	})
}

func TestACallersIDLeadsToOneRunnerByWhateverGateway(t *testing.T) {
	in(t, func(t *testing.T, w *cluster, r1 *runnerAt, g *gatewayAt) {
		r2, g2 := w.runner("r2"), w.gateway("g2")
		k := call(deed{Say: "x", ID: "mine"})
		<-carry(t.Context(), g, k, newPerson())
		w.fleet.set(r2.address, r1.address) // now the other one is better
		if got := <-carry(t.Context(), g2, k, newPerson()); got.answer != "x" || r1.machine.count() != 1 || r2.machine.count() != 0 {
			t.Errorf("%+v", got)
		}
		if got := <-carry(t.Context(), g2, call(deed{Say: "y", ID: "mine"}), newPerson()); got.code() != tipstaff.InvalidParameters {
			t.Errorf("other arguments: %+v", got)
		}
		w.fleet.set(r2.address)
		if got := <-carry(t.Context(), g2, k, newPerson()); got.code() != tipstaff.OutcomeUnknown || r2.machine.count() != 0 {
			t.Errorf("when its runner is gone: %+v", got)
		}
		w.claims.fail = errors.New("no quorum")
		if got := <-carry(t.Context(), g2, call(deed{Say: "x", ID: "new"}), newPerson()); got.code() != tipstaff.Unavailable || r2.machine.count() != 0 {
			t.Errorf("when it cannot be written down: %+v", got)
		}
	})
}

func TestACallerCannotFillTheClaimsOfAll(t *testing.T) {
	in(t, func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt) {
		for range ownClaims {
			if err := g.claims.count("ann", time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		got := <-carry(t.Context(), g, call(deed{Say: "x", ID: "mine"}), newPerson())
		if got.code() != tipstaff.Busy || !strings.Contains(got.err.Msg, "10000 calls outside of sessions") || got.err.Details["retry_after_ms"] != int64(3600000) {
			t.Errorf("one name too many: %+v", got)
		}
		bob := call(deed{Say: "x", ID: "mine"})
		bob.Principal = "bob"
		unnamed, inSession := call(deed{Say: "x"}), call(deed{Say: "x", ID: "mine too"})
		inSession.Target = "term-x@" + r.address.String()
		for what, c := range map[string]Call{"another caller": bob, "without a name": unnamed, "in a session": inSession} {
			if got := <-carry(t.Context(), g, c, newPerson()); got.answer != "x" {
				t.Errorf("%s: %+v", what, got)
			}
		}
		time.Sleep(claimsEvery)
		if got := <-carry(t.Context(), g, call(deed{Say: "x", ID: "mine"}), newPerson()); got.answer != "x" || len(g.claims.all) != 1 {
			t.Errorf("an hour later: %+v, %d counted", got, len(g.claims.all))
		}
	})
}

func TestNoMoreFramesAreUnderWayThanThereIsCreditFor(t *testing.T) {
	in(t, func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt) {
		w.net.set(func() {
			w.net.drop = func(m natsx.Message) bool { return strings.HasSuffix(m.Subject, "."+verbCredit) }
		})
		got := carry(t.Context(), g, call(deed{Say: "x", Times: 10 << 20}), newPerson())
		time.Sleep(2 * time.Second)
		w.net.set(func() {
			if n := w.net.sent["a"]; n != Credits {
				t.Errorf("%d frames without credit", n)
			}
			w.net.drop = nil
		})
		if got := <-got; len(got.answer) != 10<<20 {
			t.Errorf("%d bytes, %v", len(got.answer), got.err)
		}
	})
}

func TestARunnerThatEndsTellsHowItsCallsEnded(t *testing.T) {
	in(t, func(t *testing.T, w *cluster, r *runnerAt, g *gatewayAt) {
		got := carry(t.Context(), g, call(deed{Wait: true}), newPerson())
		<-r.machine.begun
		r.Close(errors.New("it drains"))
		if got := <-got; got.answer != "ended: it drains" {
			t.Errorf("%+v", got)
		}
		if got := <-carry(t.Context(), g, call(deed{Say: "x"}), newPerson()); got.code() != tipstaff.Unavailable {
			t.Errorf("afterwards: %+v", got)
		}
	})
}
