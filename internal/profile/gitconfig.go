package profile

import (
	"tipstaff/internal/gitconfig"
)

// parseGitConfig reads what of a configuration of git leads to other files, of
// includes whatever their condition. With an error come the settings before the
// fault: git stops at most faults, and then leads nowhere, but it reads some
// texts that are refused here.
func parseGitConfig(text string) (gitConfig, error) {
	entries, err := gitconfig.Parse([]byte(text))
	s := gitconfig.SettingsOf(entries)
	c := gitConfig{includes: gitconfig.Includes(entries), hooksPath: s.HooksPath, workTree: s.WorkTree, perTree: s.WorktreeConfig}
	return c, err
}

// gitConfig is what matters here of a configuration of git: the settings by
// which it leads to other files.
type gitConfig struct {
	includes  []string // of include and includeIf, whatever the condition
	hooksPath string
	workTree  string
	perTree   bool // config.worktree counts too
}
