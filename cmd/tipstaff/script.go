package main

import (
	"os"

	"tipstaff/internal/policy"
	"tipstaff/internal/rules"
	"tipstaff/internal/script"
)

// scriptProcess is the argument by which this program knows that it is a script
// process.
const scriptProcess = "script-process"

// newScripts returns what runs scripts. Its runners and its road are set when they
// exist.
func (st *stack) newScripts(program *os.File) *script.Scripts {
	return &script.Scripts{
		Program: program, Argv: []string{"tipstaff", scriptProcess}, Log: st.log,
		Modes: func(*policy.Grant) (write, goOn bool) { return st.shellMode() == rules.ShellWrite, false },
	}
}

// shellMode returns what scripts may do by the settings.
func (st *stack) shellMode() rules.ShellMode {
	mode, err := rules.ParseShellMode(st.settings.Shell)
	if err != nil {
		return rules.ShellOff
	}
	return mode
}

// shellOn reports whether scripts run at all.
func (st *stack) shellOn() bool { return st.shellMode() != rules.ShellOff }
