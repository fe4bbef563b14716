package api

import (
	"fmt"
	"os"

	"tipstaff/internal/peer"
)

// noCommandHere refuses a process that a tipstaff has started, as a server would.
func noCommandHere() error {
	if err := peer.NoCommand(os.Getpid()); err != nil {
		return fmt.Errorf("this is for people, not for commands: %w", err)
	}
	return nil
}
