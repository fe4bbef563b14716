package mcpserver

import (
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Over stdio a call waits for its place as the message that it is: the library gives
// each message that it is handed a goroutine and more.

// mostOpen is how many calls may be unanswered before no more lines are read.
func (c *stdioConn) mostOpen() int { return 2 * (c.admission.capacity + mostWaiting) }

// runs reports whether a message is a call of a tool that runs something.
func runs(req *jsonrpc.Request) bool {
	if req.Method != "tools/call" {
		return false
	}
	t, known := toolNamed(envelope{Params: req.Params}.text("name"))
	return known && t.runs()
}

// admit lets a call be carried out, lets it wait, or
// has it refused.
func (c *stdioConn) admit(req *jsonrpc.Request) {
	if !runs(req) {
		c.hand(req)
		return
	}
	s, ok := c.admission.enter(len(req.Params), func() { c.hand(req) })
	c.mu.Lock()
	cl := c.inFlight[req.ID] // it is not answered before this goroutine hands it out
	cl.ticket = s
	c.mu.Unlock()
	if !ok {
		cl.inbound.refused = callsExhausted(c.admission.capacity)
		c.hand(req)
	}
}

// hand queues a message for the library.
func (c *stdioConn) hand(msg jsonrpc.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, msg)
	c.look()
}

// look makes Read look at what has changed.
func (c *stdioConn) look() {
	select {
	case c.changed <- struct{}{}:
	default: // it will
	}
}

// ready returns the next message that may be handed out now; nil if there is none.
func (c *stdioConn) ready() jsonrpc.Message {
	c.mu.Lock()
	dropped := c.dropped
	c.dropped = nil
	var msg jsonrpc.Message
	if len(c.queue) > 0 {
		msg = c.queue[0]
		c.queue[0] = nil
		c.queue = c.queue[1:]
	}
	c.mu.Unlock()
	for id, cl := range dropped {
		c.forget(id, cl)
	}
	return msg
}

// forget drops a call that was cancelled while it waited for its place.
func (c *stdioConn) forget(id jsonrpc.ID, cl *call) {
	resp := &jsonrpc.Response{ID: id}
	c.answered(resp)
	defer c.peer.arrivals.release(cl.arrival)
	if cl.batch != nil {
		_ = cl.batch.answer(c, resp, true) // the end of Read tells it too
	}
}
