package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// talker is the other end of a connection under test.
type talker struct {
	t    *testing.T
	conn *stdioConn
	in   *io.PipeWriter
	out  *bufio.Reader
}

func newPeer(t *testing.T) *talker {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c, err := (&stdio{in: inR, out: outW, peer: newStdioPeer(nil)}).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(); _ = inW.Close() })
	return &talker{t: t, conn: c.(*stdioConn), in: inW, out: bufio.NewReader(outR)}
}

// say writes lines while the test goes on.
func (p *talker) say(lines ...string) {
	go func() { _, _ = io.WriteString(p.in, strings.Join(lines, "\n")+"\n") }()
}

// hear returns the next line that the connection writes.
func (p *talker) hear() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

// next returns the next message that the connection has read.
func (p *talker) next() *jsonrpc.Request {
	p.t.Helper()
	msg, err := p.conn.Read(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return msg.(*jsonrpc.Request)
}

// answer replies to a call as a handler would.
func (p *talker) answer(req *jsonrpc.Request, result string) {
	go func() {
		_ = p.conn.Write(p.t.Context(), &jsonrpc.Response{ID: req.ID, Result: json.RawMessage(result)})
	}()
}

const ping = `{"jsonrpc":"2.0","id":%d,"method":"ping"}`

func TestHardening2AMalformedLineIsAnsweredAndTheServerGoesOn(t *testing.T) {
	for _, c := range []struct{ name, line, answer string }{
		{"no JSON", `{"jsonrpc":`, `"code":-32700`},
		{"two values", `{} {}`, `"code":-32700`},
		{"text", `hello`, `"code":-32700`},
		{"a number", `5`, `"code":-32600`},
		{"no version", `{"id":1,"method":"ping"}`, `"id":1`},
		{"a call without an id", `{"jsonrpc":"2.0","method":"tools/call","params":{}}`, `"code":-32600`},
		{"an id that is null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, `"code":-32600`},
		{"an id that would be rounded", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `"id":1.5`},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `"code":-32600`},
		{"a batch where there are none", `[` + fmt.Sprintf(ping, 1) + `]`, `"code":-32600`},
		{"nested beyond reason", strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), `"code":-32`},
		{"nested beyond reason, inside a call", `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000) + `}`, `"id":1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPeer(t)
			p.say(c.line, fmt.Sprintf(ping, 7))
			read := make(chan *jsonrpc.Request)
			go func() { read <- p.next() }()
			if got := p.hear(); !strings.Contains(got, `"code":-32`) || !strings.Contains(got, c.answer) || !strings.Contains(c.answer, "id") && !strings.Contains(got, `"id":null`) {
				t.Errorf("answered %s", got)
			}
			if req := <-read; req.ID.Raw() != int64(7) {
				t.Errorf("the next message was %v", req)
			}
		})
	}
}

func TestHardening2ALineBeyondTheBoundIsAnsweredAndForgotten(t *testing.T) {
	p := newPeer(t)
	p.say(`{"jsonrpc":"2.0","id":1,"method":"x","params":"`+strings.Repeat("x", maxLine)+`"}`, fmt.Sprintf(ping, 2))
	read := make(chan *jsonrpc.Request)
	go func() { read <- p.next() }()
	if got := p.hear(); !strings.Contains(got, "message longer than") {
		t.Errorf("answered %s", got)
	}
	if req := <-read; req.ID.Raw() != int64(2) {
		t.Errorf("the next message was %v", req)
	}
}

func TestEmptyLinesAndCarriageReturnsAreNoMessages(t *testing.T) {
	p := newPeer(t)
	p.say("", "\r", "  ", fmt.Sprintf(ping, 3)+"\r")
	if req := p.next(); req.ID.Raw() != int64(3) {
		t.Errorf("read %v", req)
	}
}

func TestHardening4ACancelledCallIsNotAnswered(t *testing.T) {
	p := newPeer(t)
	p.say(fmt.Sprintf(ping, 1), fmt.Sprintf(ping, 2), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	first, second := p.next(), p.next()
	p.next() // the notification itself
	if err := p.conn.Write(t.Context(), &jsonrpc.Response{ID: first.ID, Result: json.RawMessage(`"late"`)}); err != nil {
		t.Fatal(err)
	}
	p.answer(second, `"in time"`)
	if got := p.hear(); !strings.Contains(got, "in time") {
		t.Errorf("heard %s", got)
	}
	if n := len(p.conn.inFlight); n != 0 {
		t.Errorf("%d calls are still remembered", n)
	}
}

func TestHardening5AFailureWithoutACodeGetsOne(t *testing.T) {
	p := newPeer(t)
	p.say(fmt.Sprintf(ping, 1))
	req := p.next()
	go func() {
		_ = p.conn.Write(t.Context(), &jsonrpc.Response{ID: req.ID, Error: fmt.Errorf("method is invalid during initialization")})
	}()
	if got := p.hear(); !strings.Contains(got, `"code":-32600`) {
		t.Errorf("heard %s", got)
	}
}

func TestAnIdInUseIsRefusedWithoutTouchingItsCall(t *testing.T) {
	p := newPeer(t)
	p.say(fmt.Sprintf(ping, 1), fmt.Sprintf(ping, 1), fmt.Sprintf(ping, 2))
	first := p.next()
	read := make(chan *jsonrpc.Request)
	go func() { read <- p.next() }()
	if got := p.hear(); !strings.Contains(got, `"id":null`) || !strings.Contains(got, "belongs to a call") {
		t.Errorf("heard %s", got)
	}
	if req := <-read; req.ID.Raw() != int64(2) {
		t.Errorf("read %v", req)
	}
	p.answer(first, `"first"`)
	if got := p.hear(); !strings.Contains(got, `"id":1`) {
		t.Errorf("heard %s", got)
	}
}

func TestABatchIsAnsweredTogetherWhereTheProtocolHasBatches(t *testing.T) {
	p := newPeer(t)
	p.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`)
	p.answer(p.next(), `{"protocolVersion":"2025-03-26"}`)
	p.hear()
	p.say(`[` + fmt.Sprintf(ping, 1) + `,{"jsonrpc":"2.0","method":"notifications/initialized"},` + fmt.Sprintf(ping, 2) + `]`)
	one, note, two := p.next(), p.next(), p.next()
	if note.IsCall() {
		t.Errorf("the second message was %v", note)
	}
	p.answer(two, `"b"`)
	p.answer(one, `"a"`)
	var got []struct{ ID int }
	if line := p.hear(); json.Unmarshal([]byte(line), &got) != nil || len(got) != 2 {
		t.Errorf("heard %s", line)
	}
}

func TestArrivalsAreTakenInTheirOrder(t *testing.T) {
	a := newCallOrders()
	const n = 200
	var order []callOrder
	var mu sync.Mutex
	var all sync.WaitGroup
	for range n {
		x := a.next()
		all.Go(func() {
			if x%3 != 0 { // needs no place in the order
				a.release(x)
				return
			}
			if err := a.await(t.Context(), x); err != nil {
				t.Error(err)
			}
			mu.Lock()
			order = append(order, x)
			mu.Unlock()
			a.release(x)
			a.release(x)
		})
	}
	all.Wait()
	for i := range order {
		if order[i] != callOrder(3*(i+1)) {
			t.Fatalf("order %v", order)
		}
	}
	if len(a.settled) != 0 {
		t.Errorf("%d settled calls are still remembered", len(a.settled))
	}
}

// TestT4WhatTheEndOfTheServerEndsIsAnswered over standard input and output, too: the
// client still listens, and waits for nothing that does not come.
func TestT4WhatTheEndOfTheServerEndsIsAnswered(t *testing.T) {
	r, begun, ended := blocking()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	t.Cleanup(func() { _ = toServer.Close() })
	ctx, tell := context.WithCancelCause(t.Context())
	go func() {
		_ = NewServer(r.options()).ServeStdio(ctx, fromClient, toClient)
		_ = toClient.Close()
	}()
	out := bufio.NewReader(fromServer)
	go func() {
		_, _ = io.WriteString(toServer, fmt.Sprintf(initialize, lastStateful)+"\n"+callBody(1, "execute_command", echo)+"\n"+callBody(2, "execute_command", echo)+"\n")
	}()
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	within(t, "the first begins", begun)
	within(t, "the second begins", begun)
	why := errors.New("told to end")
	tell(why)
	rest, err := io.ReadAll(out)
	for _, id := range []string{`"id":1,"result"`, `"id":2,"result"`} {
		if err != nil || !strings.Contains(string(rest), id) {
			t.Errorf("no %s in %q, %v", id, rest, err)
		}
	}
	if got := within(t, "the command is ended", ended); !errors.Is(got, why) {
		t.Errorf("it was ended for %v", got)
	}
}
