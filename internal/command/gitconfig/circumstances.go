package gitconfig

import (
	"path"
	"strings"
)

// circumstances reports changes of harmless entries that would change the
// meaning of entries that stay, in this file or in a person's own
// configuration:
//
//   - Without a work tree, a relative core.hooksPath is seen from the directory in
//     which git was started, not from the top of the work tree.
//   - With extensions.worktreeConfig switched off, what a person has put into
//     config.worktree no longer counts.
//   - With another core.worktree, a relative core.hooksPath of this file leads to
//     another directory.
func (r Repository) circumstances(fs *findings, old, now, entries []Entry) {
	was, is := SettingsOf(old), SettingsOf(now)
	if !r.bare(was) && r.bare(is) {
		fs.add(func() Finding {
			return Finding{"core.bare", "may not be switched on by a command", "the repository has a work tree, and without it git looks for the hooks of a relative core.hooksPath in the directory in which it is started", ask("git config core.bare true")}
		})
	}
	if was.WorktreeConfig && !is.WorktreeConfig {
		fs.add(func() Finding {
			return Finding{"extensions.worktreeconfig", "may not be switched off by a command", "what is in config.worktree would no longer count", ask("git config --unset extensions.worktreeConfig")}
		})
	}
	hooks := SettingsOf(entries).HooksPath
	relative := hooks != "" && !path.IsAbs(hooks) && !strings.HasPrefix(hooks, "~")
	if relative && was.WorkTree != is.WorkTree && len(fs.list) == 0 {
		fs.add(func() Finding {
			return Finding{"core.worktree", "may not be changed by a command beside a relative core.hooksPath", "git would look for hooks in another directory", ask("git config core.worktree VALUE")}
		})
	}
}

// bare reports whether git takes the repository for one without a work tree. If
// nothing says so, only a directory .git is sure to have one.
func (r Repository) bare(s Settings) bool {
	if s.Bare != nil {
		return *s.Bare
	}
	return path.Base(r.Dir) != ".git"
}
