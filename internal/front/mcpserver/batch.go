package mcpserver

import (
	"bytes"
	"encoding/json"
	"sync"

	"tipstaff/internal/strictjson"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// noBatches is the first protocol version without batches.
const noBatches = "2025-06-18"

// maxBatch bounds the messages of one batch.
const maxBatch = 1000

// batch collects the replies to the calls of one batch, which are sent together
// (JSON-RPC 2.0, section 6).
type batch struct {
	mu      sync.Mutex
	open    int
	replies [][]byte
}

// acceptBatch reads the messages of a batch. Only protocol versions that have
// batches use this; in others a batch is one error, and the connection goes on.
func (c *stdioConn) acceptBatch(data []byte) {
	c.mu.Lock()
	version := c.version
	c.mu.Unlock()
	if version == "" || version >= noBatches {
		c.reply(jsonrpc.CodeInvalidRequest, "invalid request: batches are not part of this protocol version; send one message a line")
		return
	}
	var raw []json.RawMessage
	if strictjson.Unmarshal(data, &raw) != nil || len(raw) == 0 || len(raw) > maxBatch {
		c.reply(jsonrpc.CodeInvalidRequest, "invalid request: a batch holds 1 to 1000 messages")
		return
	}
	b := &batch{}
	b.mu.Lock() // no reply may be sent before every call is counted
	defer b.mu.Unlock()
	for _, r := range raw {
		msg, ok := c.decode(r, b)
		if !ok {
			continue
		}
		if req, isReq := msg.(*jsonrpc.Request); isReq && req.IsCall() {
			b.open++
		}
		c.take(msg)
	}
}

// answer adds a reply; the last one sends them all.
func (b *batch) answer(c *stdioConn, resp *jsonrpc.Response, drop bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open--
	if !drop {
		data, err := jsonrpc.EncodeMessage(resp)
		if err != nil {
			return err
		}
		b.replies = append(b.replies, data)
	}
	if b.open > 0 || len(b.replies) == 0 {
		return nil
	}
	all := append([]byte{'['}, bytes.Join(b.replies, []byte{','})...)
	return c.write(append(all, ']'))
}
