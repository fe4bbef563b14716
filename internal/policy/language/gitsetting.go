package language

import (
	"slices"
	"strings"

	"tipstaff/internal/command/gitconfig"
	"tipstaff/internal/command/programs"
)

// setsGit reports whether arguments of git contain a setting, for one command
// (-c) or to stay (git config), that may name a program or lead git elsewhere:
// one that [gitconfig.MaySet] does not know to be harmless. What git config
// only shows is none.
func (r *reading) setsGit() bool {
	return slices.ContainsFunc(programs.Read("git", r.words(), programs.Position{}).Acts, func(a programs.Act) bool {
		if a.Kind != programs.Sets && a.Kind != programs.SetsNamed {
			return false
		}
		key, value, _ := strings.Cut(a.Text, "=")
		if a.Kind == programs.SetsNamed && !strings.Contains(key, ".") {
			return false // set and add of git config
		}
		return leadsGit(key, value)
	})
}

// leadsGit reports whether a setting may name a program, or lead git elsewhere.
func leadsGit(key, value string) bool {
	return !gitconfig.MaySet(key, value) && !harmlessHere(strings.ToLower(key), value)
}

// harmlessHere knows settings that no configuration needs, but that ordinary
// commands have: a pager and an editor that do nothing, and what this machine
// trusts. An alias is judged as the command that it is, wherever it is set.
func harmlessHere(key, value string) bool {
	section, _, _ := strings.Cut(key, ".")
	switch key {
	case "core.pager", "core.editor", "sequence.editor", "core.askpass":
		return slices.Contains([]string{"", "cat", "true", ":"}, value)
	case "safe.directory", "core.excludesfile", "commit.template", "format.pretty", "help.autocorrect", "gc.auto", "core.sharedrepository", "credential.helper":
		return key != "credential.helper" || value == ""
	case "merge.tool", "diff.tool", "merge.guitool", "diff.guitool":
		return !strings.Contains(value, "/")
	}
	return section == "pretty" || section == "alias" && value != "" && value[0] != '!' && value[0] != '-'
}
