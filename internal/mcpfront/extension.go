package mcpfront

import "github.com/modelcontextprotocol/go-sdk/mcp"

// Extension offers more of the protocol than the tools of this package use, so
// that a conformance suite can judge the way that all of it takes: transports,
// middleware, bounds. What it adds is offered to everybody who gets this far and
// runs without a decision, so it is nothing for the program itself: cmd/tipstaff
// may not import the library (floors.txt), and so cannot write one.
type Extension struct {
	// Adjust completes what the server is made with: capabilities, handlers.
	Adjust func(*mcp.ServerOptions)
	// Add registers tools, resources and prompts.
	Add func(*mcp.Server)
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
