package mcpfront

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"tipstaff"
)

// session gives what the handler keeps of a session.
func (w *web) session(id string) *peer {
	w.handler.sessions.mu.Lock()
	defer w.handler.sessions.mu.Unlock()
	return w.handler.sessions.byID[id]
}

// rest waits until a session is parked.
func (w *web) rest(id string) {
	w.t.Helper()
	for limit := time.Now().Add(10 * time.Second); ; {
		if w.session(id).web.live() == nil {
			return
		}
		if time.Now().After(limit) {
			w.t.Fatal("the session is never parked")
		}
		<-time.After(time.Millisecond)
	}
}

func TestAClientDoesNotNoticeThatItsSessionWasParked(t *testing.T) {
	h := webOptions()
	h.Rest = 20 * time.Millisecond
	var seen tipstaff.Origin
	w := serveWeb(t, (&road{execute: func(_ context.Context, r tipstaff.Request) (tipstaff.Result, error) {
		seen = r.Origin
		return exited(0, "x", ""), nil
	}}).options(), h)
	c := as("alice")
	id := w.begin(c)
	var calls []string
	for range 3 {
		got := w.send(c, "POST", callBody(1, "execute_command", echo), sessionHeader, id, versionHeader, lastStateful)
		if got.status != http.StatusOK || !strings.Contains(got.body, "exit_code: 0") || seen.Client != "t/1" {
			t.Fatalf("%d %s, from %q", got.status, got.body, seen.Client)
		}
		calls = append(calls, seen.Call)
		w.rest(id)
	}
	first, _, _ := strings.Cut(calls[0], "/")
	last, _, _ := strings.Cut(calls[2], "/")
	if first != last || calls[0] == calls[2] {
		t.Errorf("the record names the calls %q", calls)
	}
	if got := w.send(as("mallory"), "POST", callBody(1, "execute_command", echo), sessionHeader, id); got.status != http.StatusNotFound {
		t.Errorf("another principal woke it: %d %s", got.status, got.body)
	}
	if got := w.send(c, "DELETE", "", sessionHeader, id); got.status != http.StatusNoContent {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := w.send(c, "POST", callBody(1, "execute_command", echo), sessionHeader, id); got.status != http.StatusNotFound {
		t.Errorf("afterwards: %d %s", got.status, got.body)
	}
}

func TestWhatWasSentBeforeParkingCanBeHadAgain(t *testing.T) {
	h := webOptions()
	h.Rest = 20 * time.Millisecond
	w := serveWeb(t, (&road{}).options(), h)
	c := as("alice")
	id := w.begin(c)
	got := w.send(c, "POST", callBody(1, "execute_command", echo), sessionHeader, id, versionHeader, lastStateful)
	event := ""
	for lines := bufio.NewScanner(strings.NewReader(got.body)); event == "" && lines.Scan(); {
		if e, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			event = e
		}
	}
	w.rest(id)
	again := w.send(c, "GET", "", sessionHeader, id, versionHeader, lastStateful, "Last-Event-ID", event)
	if again.status != http.StatusOK || !strings.Contains(again.body, "exit_code: 0") {
		t.Errorf("%d %s", again.status, again.body)
	}
}

func TestASessionInUseIsNotParked(t *testing.T) {
	r, begun, ended := blocking()
	h := webOptions()
	h.Rest = 20 * time.Millisecond
	w := serveWeb(t, r.options(), h)
	c := as("alice")
	id := w.begin(c)
	resp := w.open(t.Context(), c, "POST", callBody(7, "execute_command", echo), sessionHeader, id, versionHeader, lastStateful)
	within(t, "the command begins", begun)
	_ = resp.Body.Close() // the client goes; its command goes on
	select {
	case cause := <-ended:
		t.Errorf("the command was ended: %v", cause)
	case <-time.After(20 * h.Rest):
	}
	if w.session(id).web.live() == nil {
		t.Error("the session was parked with a command in it")
	}
}

func TestReplaysAreBounded(t *testing.T) {
	const most = 100 << 10
	r := newReplays(most)
	ctx := t.Context()
	for i := range 1000 {
		session := string(rune('A' + i%20))
		stream := session + string(rune(i))
		if err := r.Open(ctx, session, stream); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := r.Append(ctx, session, stream, make([]byte, 1<<10)); err != nil {
				t.Fatal(err)
			}
		}
	}
	kept := 0
	for _, streams := range r.sessions {
		for _, of := range streams {
			for _, e := range of.events {
				kept += len(e)
			}
		}
	}
	if r.size > most || kept > most || kept < most/2 {
		t.Errorf("%d bytes are kept, %d are counted, of at most %d", kept, r.size, most)
	}
	if events, err := r.after("A", "A"+string(rune(0)), 0); err == nil {
		t.Errorf("of a forgotten stream: %d events", len(events))
	}
	if err := r.Append(ctx, "A", "A"+string(rune(0)), nil); err == nil {
		t.Error("a forgotten stream was begun anew, with wrong numbers")
	}
	for id := range r.sessions {
		r.drop(id)
	}
	if len(r.sessions) != 0 {
		t.Error("sessions are left")
	}
}
