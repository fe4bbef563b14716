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
		Modes: func(g *policy.Grant) (write, goOn bool) {
			s, _ := g.Script()
			return s.Shell.Mode == rules.ShellWrite, s.Shell.Continue
		},
	}
}

// shellOn reports whether scripts run under the policy that is in force.
func (st *stack) shellOn() bool { return st.monitor.Current().Shell().Mode != rules.ShellOff }
