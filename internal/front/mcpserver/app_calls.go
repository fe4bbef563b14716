package mcpserver

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/run/job"
)

// A page knows of its call what its host tells it: the arguments, and the answer
// once there is one. So the command of a call that is not answered yet is found by
// the arguments, among the calls of the same connection. Where two calls of a
// connection had equal ones at once, neither is found, because the page of one must
// not stop the other's command; their pages show the answers. Over HTTP without
// sessions no connection is known, and none is found.

// shownCall is a call that has a page, while it is not answered.
type shownCall struct {
	owner  job.Owner
	key    shownKey
	like   bool // there was another one with the same key
	id     tipstaff.RequestID
	named  chan struct{} // closed when id is set
	over   chan struct{}
	shared *sync.Mutex

	question *pageQuestion // that the page may answer; nil: none
	past     *pageQuestion // the one before, for a page that answers too late
	turned   chan struct{} // closed when question changes
}

type shownKey struct {
	peer      string
	arguments [sha256.Size]byte
}

// shownCalls are those of all clients. The zero value is ready.
type shownCalls struct {
	mu   sync.Mutex
	live map[*shownCall]struct{}
}

// begin notes a call; over is called when it is answered.
func (l *shownCalls) begin(c *caller, raw json.RawMessage) (over func()) {
	one := &shownCall{
		owner: c.owner(), key: shownKey{c.in.peer.name, sha256.Sum256(canonical(raw))},
		named: make(chan struct{}), over: make(chan struct{}), turned: make(chan struct{}), shared: &l.mu,
	}
	c.shown = one
	l.mu.Lock()
	defer l.mu.Unlock()
	for other := range l.live {
		if other.key == one.key {
			other.like, one.like = true, true
		}
	}
	if l.live == nil {
		l.live = map[*shownCall]struct{}{}
	}
	l.live[one] = struct{}{}
	return func() {
		l.mu.Lock()
		delete(l.live, one)
		l.mu.Unlock()
		close(one.over)
	}
}

// name says which command the call has become. It does nothing for the nil call,
// which has no page.
func (one *shownCall) name(id tipstaff.RequestID) {
	if one == nil {
		return
	}
	one.shared.Lock()
	defer one.shared.Unlock()
	if one.id == "" {
		one.id = id
		close(one.named)
	}
}

// command is the command of the call; "" as long as there is none.
func (one *shownCall) command() tipstaff.RequestID {
	if one == nil {
		return ""
	}
	one.shared.Lock()
	defer one.shared.Unlock()
	return one.id
}

// told adds to an answer which command it is about, for the page.
func (one *shownCall) told(res *mcp.CallToolResult) *mcp.CallToolResult {
	id := one.command()
	if id == "" || res == nil {
		return res
	}
	with := *res
	with.Meta = maps.Clone(res.Meta)
	if with.Meta == nil {
		with.Meta = mcp.Meta{}
	}
	with.Meta[commandIDMeta] = string(id)
	return &with
}

// find returns the one call of this caller's connection with these arguments; nil
// if there is none, or was another one like it.
func (l *shownCalls) find(c *caller, arguments string) *shownCall {
	key := shownKey{c.in.peer.name, sha256.Sum256(canonical(json.RawMessage(arguments)))}
	l.mu.Lock()
	defer l.mu.Unlock()
	for one := range l.live {
		if one.key == key && !one.like && one.owner == c.owner() {
			return one
		}
	}
	return nil
}
