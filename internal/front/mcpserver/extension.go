package mcpserver

import "github.com/modelcontextprotocol/go-sdk/mcp"

// Extension offers more of the protocol than the tools of this package use, so
// that a conformance suite can test the whole path: transports, middleware,
// bounds. What it adds is offered to every authenticated caller and runs
// without a decision, so the program itself must not use it: cmd/tipstaff may
// not import the library (floors.txt), and so cannot make one.
type Extension struct {
	// Adjust completes the options of the library's server: capabilities,
	// handlers.
	Adjust func(*mcp.ServerOptions)
	// Add registers tools, resources and prompts.
	Add func(*mcp.Server)
	// Tasks says of its tools which can be tasks.
	Tasks map[string]Tasking
}

// adjust and add do nothing for the nil extension.

func (e *Extension) adjust(o *mcp.ServerOptions) *mcp.ServerOptions {
	if e != nil {
		e.Adjust(o)
	}
	return o
}

func (e *Extension) add(s *mcp.Server) {
	if e != nil {
		e.Add(s)
	}
}
