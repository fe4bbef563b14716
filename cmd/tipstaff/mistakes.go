package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tipstaff/internal/config"
)

// explainMistakes makes the errors of the command line name what is nearest: for
// a word that is no command, and for a flag that a command does not have.
func explainMistakes(root *cobra.Command) {
	root.SetFlagErrorFunc(wrongFlag)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.HasSubCommands() {
			cmd.Args = noSuchCommand
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

// noSuchCommand refuses arguments of a command that only has subcommands.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return fail(exitUsage, "unknown command %q for %q%s", args[0], cmd.CommandPath(), didYouMean(args[0], names))
}

// wrongFlag names the nearest flag.
func wrongFlag(cmd *cobra.Command, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return fail(exitUsage, "%q has no flag --%s%s", cmd.CommandPath(), name, didYouMean("--"+name, names))
}

// misspelt are the variables of an environment that are no settings and look
// like one: those that begin as tipstaff's own do, and others that are one or two
// slips of the keys away. Each has its nearest setting behind it.
func misspelt(environ []string) (list []string) {
	var known []string
	for _, v := range config.Variables(nil) {
		known = append(known, v.Name)
	}
	for _, name := range config.Unknown(environ) {
		list = append(list, name+didYouMean(name, known))
	}
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "TIPSTAFF_") || !strings.Contains(name, "_") || isKnown(name, known) {
			continue
		}
		for _, k := range known {
			if tipstaffsOwn(k) && slips(name, k) <= 2 {
				list = append(list, name+"; did you mean "+k+"?")
				break
			}
		}
	}
	return list
}

// tipstaffsOwn reports whether a setting is tipstaff's alone; the variables of others
// (OTEL_…, XDG_…, SSL_…) have neighbours that mean something.
func tipstaffsOwn(name string) bool {
	for _, prefix := range []string{"TIPSTAFF_", "ALLOWED_", "TERMINAL_", "ENABLE_TERMINAL"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func isKnown(name string, known []string) bool {
	return slices.Contains(known, name)
}
