package sandbox

import (
	"context"
	"os"
)

// Door is something of the server's that one command reaches by a Unix socket, with
// what it starts, and no other command does. Nothing listens anywhere: the socket is
// connected by the server before the command has it.
type Door struct {
	Name string
	// Serve speaks on one connection. It is called on a goroutine of its own for
	// each, and returns soon after the context has ended; then the connection is
	// closed as well.
	Serve func(ctx context.Context, conn *os.File)
}

// doorsDir is where the paths of doors begin. There is nothing at these paths.
const doorsDir = "/run/tipstaff/"
