package doctor

import (
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/sandbox"
)

// shell says whether execute_shell runs scripts, and by what.
func (d *Diagnosis) shell() []Finding {
	from := cmdline.Escape(d.Policy.ShellFrom)
	switch {
	case d.Policy.Error != "":
		return nil // what the file says is not known
	case d.Policy.ShellFrom == "":
		return []Finding{good("execute_shell: off; TIPSTAFF_SHELL=read or write turns it on, or shell: in the policy file")}
	case d.Policy.Shell == "off":
		return []Finding{good("execute_shell: off, by %s", from)}
	case d.Error == "" && (d.Sandbox.Tier == sandbox.None.String() || d.Sandbox.Profile == "open"):
		return []Finding{doubt("execute_shell: %s, by %s, and every script is refused", d.Policy.Shell, from).
			note("scripts run only in a sandbox with rules for files: TIPSTAFF_SANDBOX=require, and not the profile open")}
	case d.Policy.Shell == "read":
		return []Finding{good("execute_shell: read, by %s: scripts open no file for writing", from)}
	}
	return []Finding{good("execute_shell: write, by %s: scripts write where the sandbox allows it", from)}
}
