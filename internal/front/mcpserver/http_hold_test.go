package mcpserver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"tipstaff"
)

// untilTold returns a monitor whose command prints text and ends when it is told to.
func untilTold(text string) (r *fakeMonitor, begun chan struct{}, finish chan struct{}) {
	begun, finish = make(chan struct{}, 1), make(chan struct{})
	return &fakeMonitor{execute: func(ctx context.Context, _ tipstaff.Request) (tipstaff.Result, error) {
		begun <- struct{}{}
		select {
		case <-finish:
			return exited(0, text, ""), nil
		case <-ctx.Done():
			return tipstaff.Result{Cause: tipstaff.Cancelled}, nil
		}
	}}, begun, finish
}

// firstID reads a stream up to its first event with an id.
func firstID(t *testing.T, body io.Reader) string {
	t.Helper()
	for lines := bufio.NewScanner(body); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			return id
		}
	}
	t.Fatal("the stream has no id")
	return ""
}

// ends reads a connection to its end, in the background.
func ends(body io.Reader) chan string {
	over := make(chan string, 1)
	go func() {
		rest, _ := io.ReadAll(body) // it may be cut off
		over <- string(rest)
	}()
	return over
}

func TestANewerConnectionDisplacesTheOneThatIsHalfDead(t *testing.T) {
	r, begun, finish := untilTold("the answer")
	w := serveWeb(t, r.options(), webOptions())
	c := as("alice")
	in := []string{sessionHeader, w.begin(c), versionHeader, lastStateful}
	// Nothing reads the connections any more, and nothing closes them either.
	posted := w.open(t.Context(), c, "POST", callBody(7, "execute_command", echo), in...)
	defer func() { _ = posted.Body.Close() }()
	within(t, "the command begins", begun)
	back := append(in, "Last-Event-ID", firstID(t, posted.Body))
	for _, place := range []string{"", "_", "_x", "_-1", "_99999999999999999999"} { // the connection stays
		wrong := strings.TrimSuffix(back[len(back)-1], "_0") + place
		if got := w.send(c, "GET", "", append(in, "Last-Event-ID", wrong)...); got.status != 400 {
			t.Errorf("%s: %d %s", wrong, got.status, got.body)
		}
	}
	w.handler.sessions.mu.Lock()
	for _, p := range w.handler.sessions.byID {
		p.web.mu.Lock()
		if len(p.web.held) != 1 {
			t.Errorf("after wrong ids %d streams are held", len(p.web.held))
		}
		p.web.mu.Unlock()
	}
	w.handler.sessions.mu.Unlock()
	first := w.open(t.Context(), c, "GET", "", back...)
	defer func() { _ = first.Body.Close() }()
	if rest := within(t, "the oldest ends", ends(posted.Body)); first.StatusCode != 200 || strings.Contains(rest, "the answer") {
		t.Errorf("%d %s", first.StatusCode, rest)
	}
	if id := firstID(t, first.Body); id != back[len(back)-1] {
		t.Errorf("whoever comes back for %s is told %s", back[len(back)-1], id)
	}
	second := w.open(t.Context(), c, "GET", "", back...)
	defer func() { _ = second.Body.Close() }()
	within(t, "the second ends", ends(first.Body))
	close(finish)
	if got := within(t, "the newest is answered", ends(second.Body)); second.StatusCode != 200 || !strings.Contains(got, "the answer") {
		t.Errorf("%d %s", second.StatusCode, got)
	}
	// The kept answer is there once more: the newest may have been half dead, too.
	if got := w.send(c, "GET", "", back...); got.status != 200 || !strings.Contains(got.body, "the answer") {
		t.Errorf("%d %s", got.status, got.body)
	}
	w.handler.sessions.mu.Lock()
	defer w.handler.sessions.mu.Unlock()
	for _, p := range w.handler.sessions.byID {
		if n := len(p.web.held); n != 0 {
			t.Errorf("%d streams are remembered", n)
		}
	}
}

func TestAnOldClientThatComesBackGetsNoEventWithoutAMessage(t *testing.T) {
	r, begun, finish := untilTold("the answer")
	w := serveWeb(t, r.options(), webOptions())
	c := as("alice")
	in := []string{sessionHeader, w.begin(c), versionHeader, "2025-06-18"}
	posted := w.open(t.Context(), c, "POST", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"progressToken":1},`+runParams+`}}`, in...)
	defer func() { _ = posted.Body.Close() }()
	within(t, "the command begins", begun)
	back := w.open(t.Context(), c, "GET", "", append(in, "Last-Event-ID", firstID(t, posted.Body))...) // that of the progress
	defer func() { _ = back.Body.Close() }()
	close(finish)
	got := within(t, "it is answered", ends(back.Body))
	for block := range strings.SplitSeq(strings.TrimSpace(got), "\n\n") {
		if _, data, is := strings.Cut(block, "data:"); is && !strings.Contains(data, `"jsonrpc"`) {
			t.Errorf("an event is no message: %q", block)
		}
	}
	if !strings.HasPrefix(got, ": back") || !strings.Contains(got, "the answer") {
		t.Errorf("%q", got)
	}
}

func TestTheStreamOfASessionGoesToTheNewerConnection(t *testing.T) {
	w := serveWeb(t, (&fakeMonitor{}).options(), webOptions())
	c := as("alice")
	in := []string{sessionHeader, w.begin(c), versionHeader, lastStateful}
	first := w.open(t.Context(), c, "GET", "", in...)
	defer func() { _ = first.Body.Close() }()
	second := w.open(t.Context(), c, "GET", "", in...)
	defer func() { _ = second.Body.Close() }()
	within(t, "the first ends", ends(first.Body))
	if first.StatusCode != 200 || second.StatusCode != 200 {
		t.Errorf("%d, %d", first.StatusCode, second.StatusCode)
	}
	// Another session has a stream of its own.
	third := w.open(t.Context(), c, "GET", "", sessionHeader, w.begin(c), versionHeader, lastStateful)
	defer func() { _ = third.Body.Close() }()
	still := ends(second.Body)
	if got := w.send(c, "POST", callBody(1, "execute_command", echo), in...); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	select {
	case <-still:
		t.Error("the stream of another session was ended")
	default:
	}
}

func TestAConnectionThatNothingReadsIsDisplacedInTheMiddleOfAnAnswer(t *testing.T) {
	large := strings.Repeat("x", 16<<20) // more than the buffers of a connection take
	r, begun, finish := untilTold(large)
	o, h := r.options(), webOptions()
	o.OutputBytes, h.ReplayBytes, h.WriteTimeout = len(large), 4*len(large), time.Hour
	w := serveWeb(t, o, h)
	c := as("alice")
	in := []string{sessionHeader, w.begin(c), versionHeader, lastStateful}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	posted := w.open(ctx, c, "POST", callBody(7, "execute_command", echo), in...)
	defer func() { _ = posted.Body.Close() }()
	within(t, "the command begins", begun)
	back := append(in, "Last-Event-ID", firstID(t, posted.Body))
	close(finish)
	blocked := make([]byte, 1)
	if _, err := io.ReadFull(posted.Body, blocked); err != nil { // its answer has begun
		t.Fatal(err)
	}
	got := w.send(c, "GET", "", back...)
	if got.status != 200 || strings.Count(got.body, "x") < len(large) {
		t.Errorf("%d, %d bytes", got.status, len(got.body))
	}
}

func TestT4AnEndingServerAnswersTheCallsOfItsSessions(t *testing.T) {
	r, begun, _ := untilTold("")
	w := serveWeb(t, r.options(), webOptions())
	c := as("alice")
	in := []string{sessionHeader, w.begin(c), versionHeader, lastStateful}
	idle := w.open(t.Context(), c, "GET", "", in...) // must hold nothing up
	defer func() { _ = idle.Body.Close() }()
	posted := w.open(t.Context(), c, "POST", callBody(7, "execute_command", echo), in...)
	defer func() { _ = posted.Body.Close() }()
	within(t, "the command begins", begun)
	back := w.open(t.Context(), c, "POST", callBody(8, "execute_command", echo), in...)
	within(t, "another command begins", begun)
	again := w.open(t.Context(), c, "GET", "", append(in, "Last-Event-ID", firstID(t, back.Body))...)
	_ = back.Body.Close()
	defer func() { _ = again.Body.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	w.handler.Close(ctx, errors.New("terminated"))
	if ctx.Err() != nil {
		t.Error("it took all the time that it had")
	}
	for id, resp := range map[string]*http.Response{`"id":7`: posted, `"id":8`: again} {
		if got := within(t, "the end of the stream", ends(resp.Body)); !strings.Contains(got, id) || !strings.Contains(got, `"isError":true`) {
			t.Errorf("%s was answered %q", id, got)
		}
	}
}
