package server

import (
	"os"
	"time"

	"tipstaff/internal/exit"

	"tipstaff"
	"tipstaff/internal/command/scan"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/facts"
	"tipstaff/internal/policy/language"
	"tipstaff/internal/sandbox"
	"tipstaff/internal/script"
	"tipstaff/internal/script/worker"
)

// newScripts returns what runs scripts. Its runners and its monitor are set when they
// exist.
func (st *Stack) newScripts(program *os.File) *script.Scripts {
	return &script.Scripts{
		Program: program, Argv: []string{"tipstaff", worker.Argument}, Log: st.Log,
		Modes: func(g *policy.Grant) (write, goOn bool) {
			s, _ := g.Script()
			return s.Shell.Mode == language.ShellWrite, s.Shell.Continue
		},
		MayStay: st.mayStay, MostLeft: min(sessionJobs, st.settings.MaxJobs),
	}
}

// mayStay reports whether a command may run in the background, and for how long.
func (st *Stack) mayStay(req tipstaff.Request) (time.Duration, bool) {
	d := st.Monitor.Explain(req)
	defer d.Close()
	g, may := d.Grant()
	if !may {
		return 0, false
	}
	return g.Timeout(), true
}

// shellOn reports whether scripts run under the policy that is in force.
func (st *Stack) shellOn() bool { return st.Monitor.Current().Shell().Mode != language.ShellOff }

// missesShell returns an error if scripts are the only way to run commands, and none may.
func (st *Stack) missesShell() error {
	if !st.settings.OnlyShell || st.shellOn() {
		return nil
	}
	return exit.Errorf(exit.Config, "TIPSTAFF_TOOLS=shell offers execute_shell alone, and scripts are off: set TIPSTAFF_SHELL=write, or shell: write in the policy")
}

// shells is the machine together with what scripts have left in sessions.
type shells struct {
	*facts.Host
	scripts *script.Scripts
}

// In implements [policy.Viewer].
func (w shells) In(v policy.View) policy.World {
	return seenShells{facts.Seen{Host: w.Host, View: v}, w}
}

// seenShells is shells in a view.
type seenShells struct {
	facts.Seen
	shells shells
}

// Before is that of shells.
func (w seenShells) Before(id tipstaff.SessionID) scan.ShellState { return w.shells.Before(id) }

// viewOf returns the files as the next commands of a caller see them.
func viewOf(box *sandbox.Sandbox) func(*tipstaff.Request) policy.View {
	return func(req *tipstaff.Request) policy.View {
		if seen := box.SeenBy(req.Origin.Principal, req.Session); seen != nil {
			return seen
		}
		return nil
	}
}

// Before returns what is known of the shell of a session.
func (w shells) Before(id tipstaff.SessionID) scan.ShellState {
	return scan.ShellState{Anything: w.scripts.HasState(id)}
}
