// Package fleet has the commands of machines that work as one: a runner, and the NATS server
// between gateways and runners.
package fleet

import "github.com/spf13/cobra"

// New returns the commands of a fleet.
func New() []*cobra.Command {
	return []*cobra.Command{newRunner(), newEngine()}
}
