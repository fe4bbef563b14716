package main

import (
	"os"

	"tipstaff/internal/build"

	"github.com/spf13/cobra"
)

const help = `tipstaff runs commands for AI agents: by your rules, on the record,
ended with everything that they started.

  Add it to an agent: a policy for the project here, then the client
  (--print shows what goes into its file, as mcpServers):
      tipstaff init
      tipstaff install --client claude-code

  Ask one tool from a shell:
      ALLOWED_COMMANDS=ls tipstaff call execute_command '{"command": "ls -l"}'

  See what it does, in ten seconds:
      tipstaff demo
`

// newRoot is the command line for arguments: for a server, as clients start it, it
// has that subcommand alone, because to make the others takes a while.
func newRoot(args []string) *cobra.Command {
	root := newProgram()
	root.AddCommand(newServe())
	if len(args) > 0 && args[0] != "serve" {
		root.AddCommand(newCall(), newRun(), newRunnerCommand(), newApprovals(), newApprove(), newDeny(), newConsole(), newTop(), newStop(), newFreeze(), newLift(), newDemo(), newPolicyCommand(), newConfig(), newAudit(), newToken(), newDoctor(), newEngineCommand(), newInit(), newInstall(), newUninstall(), newClients(), newHook(), newVersion())
		root.AddCommand(newTopics()...)
		root.SetHelpCommand(newHelp())
		completeWith(root)
	}
	explainMistakes(root)
	return root
}

// newProgram is the program without its subcommands.
func newProgram() *cobra.Command {
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
	root.Version = build.This().Line()
	root.SetVersionTemplate("{{.Version}}\n")
	return root
}

// isTerminal reports whether f is probably used by a person.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
