// Package policy has the commands that ask the policy and the settings.
package policy

import "github.com/spf13/cobra"

// New returns the commands that say what the policy and the settings come to.
func New() []*cobra.Command {
	return []*cobra.Command{newPolicy(), newConfig()}
}
