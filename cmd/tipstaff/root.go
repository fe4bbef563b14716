package main

import (
	"os"

	"github.com/spf13/cobra"

	"tipstaff/internal/build"
	"tipstaff/internal/cli/admin"
	"tipstaff/internal/cli/audit"
	"tipstaff/internal/cli/fleet"
	"tipstaff/internal/cli/policy"
	"tipstaff/internal/cli/run"
	"tipstaff/internal/cli/serve"
	"tipstaff/internal/cli/setup"
	"tipstaff/internal/tty"
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
	root.AddCommand(serve.New())
	if len(args) > 0 && args[0] != "serve" {
		for _, commands := range [][]*cobra.Command{run.New(), policy.New(), {audit.New()}, admin.New(), setup.New(), fleet.New()} {
			root.AddCommand(commands...)
		}
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
			if tty.IsTerminal(os.Stdin) {
				cmd.Print(help + "\nCommands and flags: tipstaff --help\n")
				return nil
			}
			return serve.Serve(cmd.Context(), serve.Flags{})
		},
	}
	root.SetErr(os.Stderr)
	root.Version = build.This().Line()
	root.SetVersionTemplate("{{.Version}}\n")
	return root
}
