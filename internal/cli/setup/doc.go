// Package setup has the commands that add tipstaff to a project, to clients and to their shells,
// and that examine what has been set up.
package setup

import "github.com/spf13/cobra"

// New returns the commands that set tipstaff up and examine it.
func New() []*cobra.Command {
	return []*cobra.Command{newInit(), newInstall(), newUninstall(), newClients(), newHook(), newDoctor(), newToken(), newVersion()}
}
