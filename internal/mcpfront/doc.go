// Package mcpfront speaks the Model Context Protocol: it offers the tools,
// turns a call into a request for the road (internal/monitor), and the result
// or refusal into an answer that a model can use.
//
// It decides nothing about commands and starts none. What the protocol library
// leaves to its users (malformed lines, panics, replies nobody waits for) is
// settled here, one file each.
//
// Read next: server.go, tools.go, then one tool_*.go.
package mcpfront
