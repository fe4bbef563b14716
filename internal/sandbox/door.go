package sandbox

import "os"

// Door is something of the server's that one command reaches by a Unix socket, with
// what it starts, and no other command does. Nothing listens anywhere: the socket is
// connected by the server before the command has it.
type Door struct {
	Name string
	// Serve speaks on one connection and closes it. It is called on a goroutine of
	// its own for each, and ends soon after the file is closed from elsewhere.
	Serve func(conn *os.File)
}

// doorsDir is where the paths of doors begin. There is nothing at these paths.
const doorsDir = "/run/tipstaff/"
