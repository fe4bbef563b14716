package main

import (
	"os"

	"github.com/spf13/cobra"
)

const help = `tipstaff runs commands for AI agents: by your rules, on the record,
ended with everything that they started.

  Add it to an agent (here: any client that reads mcpServers from JSON):
      {"mcpServers": {"tipstaff": {"command": "tipstaff", "args": ["serve"],
       "env": {"ALLOWED_COMMANDS": "git,ls,cat,npm"}}}}

  Ask one tool from a shell:
      ALLOWED_COMMANDS=ls tipstaff call execute_command '{"command": "ls -l"}'

  See what it does, in ten seconds:
      tipstaff demo
`

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "tipstaff",
		Short:         "Runs commands for AI agents, by your rules and on the record",
		Long:          help,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if isTerminal(os.Stdin) {
				cmd.Print(help + "\nCommands and flags: tipstaff --help\n")
				return nil
			}
			return serve(cmd.Context(), serveFlags{})
		},
	}
	root.SetOut(os.Stdout)
	root.SetErr(os.Stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newServe(), newCall(), newRun(), newApprovals(), newApprove(), newDeny(), newDemo(), newPolicyCommand(), newConfig(), newAudit(), newToken(), newDoctor(), newInit(), newInstall(), newUninstall(), newClients(), newVersion())
	return root
}

// isTerminal reports whether f is probably used by a person.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
