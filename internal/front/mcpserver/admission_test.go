package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tipstaff"
)

func TestARoomGivesItsPlacesInTheOrderOfArrival(t *testing.T) {
	r := admission{capacity: 2}
	var admitted []int
	var stays []*ticket
	for i := range 6 {
		s, ok := r.enter(10, func() { admitted = append(admitted, i) })
		if !ok {
			t.Fatalf("call %d was refused", i)
		}
		stays = append(stays, s)
	}
	want := func(what string, bytes int, calls ...int) {
		t.Helper()
		if !slices.Equal(admitted, calls) || r.bytes != bytes {
			t.Errorf("%s: admitted are %v, and %d bytes wait", what, admitted, r.bytes)
		}
	}
	want("at first", 40, 0, 1)
	if stays[0].withdraw() {
		t.Error("a call that has its place was withdrawn")
	}
	if !stays[2].withdraw() || stays[2].withdraw() {
		t.Error("a call that waits is withdrawn once")
	}
	want("one was withdrawn", 30, 0, 1)
	stays[0].leave()
	stays[0].leave()
	want("one has left, twice", 20, 0, 1, 3)
	stays[2].leave()
	want("the withdrawn one has left", 20, 0, 1, 3)
	stays[4].leave()
	stays[3].leave()
	want("one left while it waited, and one after", 0, 0, 1, 3, 5)
	stays[1].leave()
	stays[5].leave()
	if r.taken != 0 || r.waiting.Len() != 0 {
		t.Errorf("left are %d places and %d calls", r.taken, r.waiting.Len())
	}
}

func TestARoomHasABound(t *testing.T) {
	nothing := func() {}
	r := admission{capacity: 1}
	for i := range 1 + mostWaiting {
		if _, ok := r.enter(1, nothing); !ok {
			t.Fatalf("call %d was refused", i)
		}
	}
	if _, ok := r.enter(1, nothing); ok {
		t.Error("one more than may wait was let in")
	}
	r = admission{capacity: 1}
	for i, c := range []struct {
		size int
		ok   bool
	}{{maxLine, true}, {maxLine, true}, {1, false}} {
		if _, ok := r.enter(c.size, nothing); ok != c.ok {
			t.Errorf("call %d, of %d bytes: %v", i, c.size, ok)
		}
	}
}

// naming returns a monitor whose commands run until they are ended, and tells of each that
// has begun, and of calls that were refused before.
func naming() (o Options, begun, refused chan string) {
	begun, refused = make(chan string, 100), make(chan string, 100)
	r := &noting{
		fakeMonitor: &fakeMonitor{execute: func(ctx context.Context, req tipstaff.Request) (tipstaff.Result, error) {
			begun <- strings.Join(req.Argv, " ") + req.Line
			<-ctx.Done()
			return tipstaff.Result{Cause: tipstaff.Cancelled}, nil
		}},
		refused: func(_ tipstaff.Request, err error) { refused <- fmt.Sprint(tipstaff.AsError(err).Code, " ", err) },
	}
	o = r.options()
	o.Monitor, o.Capacity = r, 1
	return o, begun, refused
}

func numbered(id int) string {
	return callBody(id, "execute_command", fmt.Sprintf(`{"command":"echo %d"}`, id))
}

const cancellation = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`

// TestOverStdioACallWaitsForItsPlaceAndWhatRunsNothingDoesNot: a caller all of whose
// capacity are taken can still look after its commands and end them.
func TestOverStdioACallWaitsForItsPlaceAndWhatRunsNothingDoesNot(t *testing.T) {
	o, begun, _ := naming()
	say, hear, _ := lines(t, o)
	say(fmt.Sprintf(initialize, lastStateful))
	hear()
	say(numbered(1))
	if got := within(t, "the first begins", begun); got != "echo 1" {
		t.Errorf("first began %q", got)
	}
	say(strings.Join([]string{
		numbered(2), numbered(3), numbered(4),
		callBody(5, "terminal_create_session", `{"taskId":"t","agentId":"a"}`),
		fmt.Sprintf(cancellation, 2), fmt.Sprintf(cancellation, 3),
		numbered(2), // its id is free again
		callBody(6, "terminal_get_status", `{}`),
	}, "\n"))
	for range 2 {
		if got := hear(); !strings.Contains(got, `"id":5`) && !strings.Contains(got, `"id":6`) {
			t.Errorf("heard %s", got)
		}
	}
	for _, turn := range []struct {
		cancel int
		next   string
	}{{1, "echo 4"}, {4, "echo 2"}} {
		say(fmt.Sprintf(cancellation, turn.cancel))
		if got := within(t, "the next begins", begun); got != turn.next {
			t.Errorf("when call %d had ended, %q began", turn.cancel, got)
		}
	}
}

func TestOverStdioACallBeyondTheBoundIsBusy(t *testing.T) {
	o, begun, refused := naming()
	say, hear, _ := lines(t, o)
	say(fmt.Sprintf(initialize, lastStateful))
	hear()
	var all []string
	for i := range 1 + mostWaiting + 1 {
		all = append(all, numbered(i+1))
	}
	say(strings.Join(all, "\n"))
	if got := hear(); !strings.Contains(got, fmt.Sprintf(`"id":%d`, len(all))) || !strings.Contains(got, "BUSY") || !strings.Contains(got, "nothing of this one was started") {
		t.Errorf("heard %s", got)
	}
	if got := within(t, "it is recorded", refused); !strings.HasPrefix(got, "BUSY") {
		t.Errorf("recorded is %s", got)
	}
	within(t, "the first begins", begun)
	if len(begun) > 0 {
		t.Error("more than one began")
	}
	// A place among those that wait is free again when one of them is cancelled.
	say(fmt.Sprintf(cancellation, 2) + "\n" + numbered(len(all)) + "\n" + callBody(9999, "terminal_get_status", `{}`))
	if got := hear(); !strings.Contains(got, `"id":9999`) {
		t.Errorf("heard %s", got)
	}
}

// TestABatchMayCancelItsOwnCallThatWaits: the rest of it is answered.
func TestABatchMayCancelItsOwnCallThatWaits(t *testing.T) {
	o, begun, _ := naming()
	say, hear, _ := lines(t, o)
	say(fmt.Sprintf(initialize, "2025-03-26"))
	hear()
	say(numbered(1))
	within(t, "the first begins", begun)
	say("[" + strings.Join([]string{numbered(2), fmt.Sprintf(cancellation, 2), fmt.Sprintf(ping, 3)}, ",") + "]")
	if got := hear(); !strings.HasPrefix(got, "[") || !strings.Contains(got, `"id":3`) || strings.Contains(got, `"id":2`) {
		t.Errorf("heard %s", got)
	}
}

// TestOverHTTPEachPrincipalHasARoomOfItsOwn: calls wait in it until they have their
// place, are cancelled, or their client is gone.
func TestOverHTTPEachPrincipalHasARoomOfItsOwn(t *testing.T) {
	o, begun, refused := naming()
	h := webOptions()
	h.OwnCalls = 3
	w := serveWeb(t, o, h)
	alice, bob := as("alice"), as("bob")
	session := w.begin(alice)
	open := func(c *http.Client, session string, id int) {
		resp := w.open(t.Context(), c, "POST", numbered(id), sessionHeader, session, versionHeader, lastStateful)
		t.Cleanup(func() { _ = resp.Body.Close() })
	}
	send := func(body string) reply {
		return w.send(alice, "POST", body, sessionHeader, session, versionHeader, lastStateful)
	}
	began := func(what, want string) {
		t.Helper()
		if got := within(t, what, begun); got != want {
			t.Errorf("%s: %q", what, got)
		}
	}
	open(alice, session, 1)
	began("the first begins", "echo 1")
	open(alice, session, 2)
	w.inRoom("alice", 2)
	open(alice, session, 3)
	w.inRoom("alice", 3)
	open(bob, w.begin(bob), 4)
	began("another principal's begins", "echo 4")
	if got := send(numbered(5)); got.status != http.StatusTooManyRequests {
		t.Errorf("beyond the bound of calls: %d %s", got.status, got.body)
	}
	if got := send(callBody(6, "terminal_create_session", `{"taskId":"t","agentId":"a"}`)); got.status != http.StatusOK || !strings.Contains(got.body, `"id":6`) {
		t.Errorf("what runs nothing: %d %s", got.status, got.body)
	}
	send(fmt.Sprintf(cancellation, 2))
	if got := within(t, "a call that waits is cancelled", refused); !strings.Contains(got, "cancelled while it waited") {
		t.Errorf("recorded is %s", got)
	}
	send(fmt.Sprintf(cancellation, 1))
	began("the next begins", "echo 3")

	w.handler.Close(t.Context(), errors.New("enough"))
	w.inRoom("alice", 0)
	w.inRoom("bob", 0)
}

// inRoom waits until so many calls of a principal are in its room. A stream is opened
// before its call is.
func (w *web) inRoom(principal string, n int) {
	w.t.Helper()
	r := &w.handler.admissions
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		r.mu.Lock()
		is := 0
		if own := r.of[principal]; own != nil {
			is = own.calls
		}
		r.mu.Unlock()
		if is == n {
			return
		}
		if time.Now().After(limit) {
			w.t.Fatalf("%d calls of %s are in its room, not %d", is, principal, n)
		}
	}
}

// TestOverHTTPWhoHangsUpLeavesTheRoom: a request of the stateless protocol is its call.
func TestOverHTTPWhoHangsUpLeavesTheRoom(t *testing.T) {
	o, begun, refused := naming()
	h := webOptions()
	h.KeepAlive = 20 * time.Millisecond // by which a request is seen to be a call that goes on
	w := serveWeb(t, o, h)
	var hangUp []context.CancelFunc
	for i := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		hangUp = append(hangUp, cancel)
		resp := w.call(ctx, true)
		t.Cleanup(func() { _ = resp.Body.Close() })
		if i == 0 {
			within(t, "the first begins", begun)
		}
		w.inRoom("alice", i+1)
	}
	if len(begun) > 0 {
		t.Fatal("two have places where there is one")
	}
	hangUp[1]()
	within(t, "a call that waits ends with its request", refused)
	hangUp[0]()
	within(t, "the last begins", begun)
}
