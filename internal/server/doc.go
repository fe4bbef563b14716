// Package server assembles servers out of their parts. stack.go is the recipe: a list, a
// line for each part, in which each part needs those above it. A server on standard
// input and output, one over HTTP, a gateway and a runner of a fleet, and the small ones
// behind a hook or a single command are made of the same parts.
//
// [New] returns a server that a caller drives itself; [Serve] and [ServeRunner] run one
// until their context ends. Settings come in as a value: only cli reads flags, and only
// [tipstaff/internal/exit] knows the numbers of exit codes.
//
// Read next: stack.go, then serve.go.
package server
