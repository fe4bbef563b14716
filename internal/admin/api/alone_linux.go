package api

import (
	"fmt"
	"os"

	"tipstaff/internal/unixsocket"
)

// noCommandHere refuses a process that a tipstaff has started, as a server would.
func noCommandHere() error {
	if err := unixsocket.NoCommand(os.Getpid()); err != nil {
		return fmt.Errorf("this is for people, not for commands: %w", err)
	}
	return nil
}
