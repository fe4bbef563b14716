// Package run has the commands that run one command, call one tool, or demonstrate both, in a
// server of their own.
package run

import "github.com/spf13/cobra"

// New returns the commands that need no client.
func New() []*cobra.Command {
	return []*cobra.Command{newCall(), newRun(), newDemo()}
}
