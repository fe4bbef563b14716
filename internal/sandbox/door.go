package sandbox

import (
	"context"
	"os"
)

// Door is a service of the server that one command, and what it starts, reaches by a
// Unix socket; no other command does, because the server makes each connection.
type Door struct {
	Name string
	// Serve serves one connection. It is called on a goroutine of its own for each,
	// and must return soon after the context has ended; then the connection is
	// closed too.
	Serve func(ctx context.Context, conn *os.File)
}

// doorsDir is the start of the paths of doors. No files are at these paths.
const doorsDir = "/run/tipstaff/"
