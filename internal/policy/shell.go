package policy

import "tipstaff/internal/policy/language"

// ShellSetting is the operator's setting for scripts. The zero ShellSetting says
// nothing.
type ShellSetting struct {
	Mode language.ShellMode
	Set  bool
}

// ParseShellSetting reads TIPSTAFF_SHELL; "" says nothing.
func ParseShellSetting(text string) (ShellSetting, error) {
	if text == "" {
		return ShellSetting{}, nil
	}
	m, err := language.ParseShellMode(text)
	return ShellSetting{m, true}, err // with an error it is off
}

// Shell says whether scripts run, and how. The zero Shell runs none.
type Shell struct {
	Mode language.ShellMode
	// From is what decides about the mode: a setting, or file:line; "" if
	// nothing says anything.
	From string
	// Continue: a script goes on after a command that is refused while it runs.
	Continue bool
}

// shellSetting is the name of the setting.
const shellSetting = "TIPSTAFF_SHELL"

// ShellOf returns the mode of scripts from the setting and the policy file: the
// narrower one if both set it, and off if neither does. file may be nil.
func ShellOf(s ShellSetting, file *language.Policy) Shell {
	out := Shell{}
	if s.Set {
		out = Shell{Mode: s.Mode, From: shellSetting}
	}
	if file == nil {
		return out
	}
	if m, says := file.ShellMode(); says && (!s.Set || m < s.Mode) {
		out = Shell{Mode: m, From: file.File.Shell.Mode.At.String()}
	}
	out.Continue = file.File.Shell.OnRefusal.Value == "continue"
	return out
}

// Shell returns whether scripts run under this policy, and how.
func (p *Policy) Shell() Shell { return ShellOf(p.settings.Shell, p.settings.File) }

// hint says how the operator turns the shell on.
func (s Shell) hint() string {
	const instead = " Until then, run one command a call."
	if s.From == "" {
		return "The operator turns it on with TIPSTAFF_SHELL=read or write, or with shell: in the policy file." + instead
	}
	if s.From == shellSetting {
		return "The operator has set TIPSTAFF_SHELL=off; read or write turns it on." + instead
	}
	return "The operator's policy file says shell: off; read or write turns it on." + instead
}
