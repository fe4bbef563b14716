package setup

import (
	"github.com/spf13/cobra"

	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/exit"
	"tipstaff/internal/inspect/clients"
	"tipstaff/internal/tty"
)

func newUninstall() *cobra.Command {
	var o clientFlags
	cmd := &cobra.Command{
		Use:   "uninstall --client NAME",
		Short: "Take tipstaff out of clients again",
		Long: `Take tipstaff out of the file in which a client keeps its MCP servers. A file that has
not changed since the installation becomes what it was before, byte for byte; one that
has keeps all changes but the entry, and a copy of it is kept. Where tipstaff does not
change a client's file, it says what to do. Policy and records stay.`,
		Example: `  tipstaff uninstall --client cursor
  tipstaff uninstall --client all --yes`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = append(o.names, args...)
			return uninstall(cmd, o)
		},
		ValidArgsFunction: completeClients,
	}
	o.declare(cmd)
	return cmd
}

func uninstall(cmd *cobra.Command, o clientFlags) error {
	s := thisSystem()
	list, err := o.chosen(s, "uninstall")
	if err != nil {
		return err
	}
	scope := clients.Scope(o.scope)
	var with []clients.Client
	for _, c := range list {
		st := s.Look(c, scope)
		if st.Fault == "" && !st.Installed && st.Ask == "" {
			tty.Say(cmd.OutOrStdout(), "✔ %s: tipstaff is not in it", c.Title)
			continue
		}
		with = append(with, c)
	}
	changes, faults := s.Uninstall(with, clients.Options{Scope: scope, Follow: o.follow})
	done, err := carryOut(cmd, o, changes, "taken out")
	if err != nil {
		return err
	}
	if !o.dryRun {
		for _, c := range done {
			tty.Say(cmd.OutOrStdout(), "  %s has it until it is started again.", c.Title)
		}
	}
	for _, err := range faults {
		tty.Say(cmd.ErrOrStderr(), "✘ %s", cmdline.EscapeLines(err.Error()))
	}
	if len(faults) > 0 {
		return &exit.Error{Code: exit.Failure}
	}
	return nil
}
