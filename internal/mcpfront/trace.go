package mcpfront

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
)

// traceOf reads the trace that a call belongs to out of params._meta, where the
// protocol has a place for it, under the names of W3C Trace Context. What is
// malformed is no reason to refuse a call, and is ignored.
func traceOf(m mcp.Meta) tipstaff.Trace {
	parent, _ := m["traceparent"].(string)
	state, _ := m["tracestate"].(string)
	return tipstaff.ParseTrace(parent, state)
}
