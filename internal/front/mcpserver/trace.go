package mcpserver

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
)

// traceOf reads the trace of a call from params._meta, where the protocol puts
// it under the names of W3C Trace Context. A malformed trace is ignored and
// does not fail the call.
func traceOf(m mcp.Meta) tipstaff.Trace {
	parent, _ := m["traceparent"].(string)
	state, _ := m["tracestate"].(string)
	return tipstaff.ParseTrace(parent, state)
}
