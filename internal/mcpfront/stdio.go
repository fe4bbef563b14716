package mcpfront

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine bounds one message. It leaves room for the largest arguments that the
// policy accepts, in their longest escaped form, and for an input in addition.
const maxLine = 32 << 20

// stdio is the transport over a pair of streams, one JSON-RPC message per line.
// Unlike the library's own it survives malformed input: a line that is not a
// message is answered with an error and skipped.
type stdio struct {
	in   io.ReadCloser
	out  io.Writer
	peer *peer
}

// Connect is called once by the library. When ctx is done, the connection is
// closed, which cancels every call in flight: the library alone would wait for
// them to finish.
func (t *stdio) Connect(ctx context.Context) (mcp.Connection, error) {
	c := &stdioConn{
		in:       t.in,
		lines:    make(chan line),
		closed:   make(chan struct{}),
		out:      t.out,
		inFlight: map[jsonrpc.ID]*call{},
		peer:     t.peer,
	}
	context.AfterFunc(ctx, func() { _ = c.Close() })
	go c.scan(bufio.NewReaderSize(t.in, 64<<10))
	return c, nil
}

// line is one line of input, or why there are no more.
type line struct {
	data []byte
	err  error
}

// stdioConn is the connection. One goroutine calls Read, several call Write.
type stdioConn struct {
	in        io.ReadCloser
	lines     chan line
	closeOnce sync.Once
	closed    chan struct{}

	queue []jsonrpc.Message // the rest of a batch

	peer *peer

	mu       sync.Mutex // guards what follows
	inFlight map[jsonrpc.ID]*call
	version  string        // negotiated by initialize; "" before
	idle     chan struct{} // closed when nothing is in flight; nil unless linger waits

	writeMu sync.Mutex
	out     io.Writer
}

// call is a request that has not been answered.
type call struct {
	method    string
	arrival   arrival
	cancelled bool
	batch     *batch // nil outside of one
}

func (c *stdioConn) SessionID() string { return "" }

// Close ends reading. A read from a terminal or pipe may still be blocked when
// it returns; nothing waits for that.
func (c *stdioConn) Close() error {
	c.closeOnce.Do(func() {
		close(c.closed)
		_ = c.in.Close()
	})
	return nil
}

// scan reads lines until the input ends.
func (c *stdioConn) scan(r *bufio.Reader) {
	for {
		data, err := readLine(r)
		if errors.Is(err, errTooLong) {
			c.reply(jsonrpc.CodeInvalidRequest, fmt.Sprintf("message longer than %d bytes; send large text in several calls, or through a file", maxLine))
			continue
		}
		select {
		case c.lines <- line{data, err}:
		case <-c.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

var errTooLong = errors.New("line too long")

// readLine returns one line without its end. A line that is too long is read to
// its end and discarded.
func readLine(r *bufio.Reader) ([]byte, error) {
	var whole []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(whole)+len(part) <= maxLine {
			whole = append(whole, part...)
		} else {
			whole = whole[:0:0]
			if err = skipLine(r, err); err == nil {
				return nil, errTooLong
			}
		}
		switch {
		case err == nil:
			return bytes.TrimRight(whole, "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(whole)) > 0:
			return bytes.TrimSpace(whole), nil // the next read ends
		default:
			return nil, err
		}
	}
}

func skipLine(r *bufio.Reader, err error) error {
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	return err
}

// Read returns the next message. Malformed input is no error; only the end of
// the input is.
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.queue) > 0 {
			msg := c.queue[0]
			c.queue = c.queue[1:]
			return msg, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case l := <-c.lines:
			if l.err != nil {
				c.linger(ctx)
				return nil, io.EOF
			}
			c.accept(l.data)
		}
	}
}

// lingering is how long calls in flight may still be answered when the client
// has closed its end. A client that wrote its calls into a pipe gets its
// answers; the commands of a client that has died are ended this much later
// (contract T4 allows two seconds).
const lingering = 500 * time.Millisecond

// linger waits until every call is answered, at most for lingering. The library
// cancels what is in flight as soon as Read returns the end of the input.
func (c *stdioConn) linger(ctx context.Context) {
	c.mu.Lock()
	if len(c.inFlight) == 0 {
		c.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	c.idle = idle
	c.mu.Unlock()
	limit := time.NewTimer(lingering)
	defer limit.Stop()
	select {
	case <-idle:
	case <-limit.C:
	case <-c.closed:
	case <-ctx.Done():
	}
}

// accept turns a line into messages to be read, or answers with an error.
func (c *stdioConn) accept(data []byte) {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0:
	case !json.Valid(data):
		c.reply(jsonrpc.CodeParseError, "parse error: this line is not one JSON value, or is nested too deeply; send one JSON-RPC message a line")
	case data[0] == '[':
		c.acceptBatch(data)
	default:
		if msg, ok := c.decode(data, nil); ok {
			c.queue = append(c.queue, msg)
		}
	}
}

// decode reads one message and notes it if it is a call. It answers a malformed
// one with an error.
func (c *stdioConn) decode(data []byte, b *batch) (jsonrpc.Message, bool) {
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		c.reply(jsonrpc.CodeInvalidRequest, "invalid request: this is not a JSON-RPC 2.0 message")
		return nil, false
	}
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		return msg, true
	}
	if !req.IsCall() {
		if !isNotification(req.Method) {
			c.reply(jsonrpc.CodeInvalidRequest, fmt.Sprintf("invalid request: method %.100q needs an id that is a string or a whole number", req.Method))
			return nil, false
		}
		c.noteCancelled(req)
		return msg, true
	}
	if !wholeID(data) {
		c.reply(jsonrpc.CodeInvalidRequest, "invalid request: an id must be a string or a whole number")
		return nil, false
	}
	if !c.note(req, b) {
		c.reply(jsonrpc.CodeInvalidRequest, fmt.Sprintf("invalid request: id %v belongs to a call that has not been answered yet", req.ID.Raw()))
		return nil, false
	}
	return msg, true
}

// note remembers a call until it is answered; false if its id is in use.
func (c *stdioConn) note(req *jsonrpc.Request, b *batch) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inFlight[req.ID] != nil {
		return false
	}
	cl := &call{method: req.Method, arrival: c.peer.arrivals.next(), batch: b}
	c.inFlight[req.ID] = cl
	req.Extra = (&inbound{peer: c.peer, principal: local, arrival: cl.arrival, number: uint64(cl.arrival)}).extra()
	return true
}

// noteCancelled marks a call whose reply must not be sent.
func (c *stdioConn) noteCancelled(req *jsonrpc.Request) {
	if req.Method != "notifications/cancelled" {
		return
	}
	var p struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(req.Params, &p) != nil {
		return
	}
	id, err := jsonrpc.MakeID(p.RequestID)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cl := c.inFlight[id]; cl != nil {
		cl.cancelled = true
	}
}

// Write sends a message, unless it is the reply to a cancelled call.
func (c *stdioConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	resp, ok := msg.(*jsonrpc.Response)
	if !ok {
		return c.send(msg)
	}
	cl := c.answered(resp)
	if cl == nil {
		return c.send(resp)
	}
	defer c.peer.arrivals.settle(cl.arrival)
	resp = withCode(resp)
	switch {
	case cl.batch != nil:
		return cl.batch.answer(c, resp, cl.cancelled)
	case cl.cancelled:
		return nil
	}
	return c.send(resp)
}

// answered removes a call from those in flight.
func (c *stdioConn) answered(resp *jsonrpc.Response) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl := c.inFlight[resp.ID]
	delete(c.inFlight, resp.ID)
	if cl != nil && cl.method == "initialize" && resp.Error == nil {
		c.version = negotiated(resp.Result)
	}
	if c.idle != nil && cl != nil && len(c.inFlight) == 0 {
		close(c.idle)
		c.idle = nil
	}
	return cl
}

func (c *stdioConn) send(msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return c.write(data)
}

// reply answers a line that has no usable id.
func (c *stdioConn) reply(code int, text string) {
	_ = c.write(failure(code, text)) // a peer that does not read gets no answer
}

func (c *stdioConn) write(data []byte) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	_, err := c.out.Write(append(data, '\n'))
	return err
}
