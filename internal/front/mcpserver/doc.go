// Package mcpserver speaks the Model Context Protocol: it offers the tools,
// turns a call into a request for internal/monitor, and turns the result or
// refusal into an answer that a model can use.
//
// It decides nothing about commands and starts none. It also handles what the
// protocol library leaves to its users (malformed lines, panics, replies to
// cancelled calls), one file each.
//
// Read next: server.go, tools.go, then one tool_*.go.
package mcpserver
