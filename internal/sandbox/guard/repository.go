package guard

import "path/filepath"

// Repository returns the items of the git repository in dir that steer git,
// whether they exist or not. made says that commands may have made the
// repository.
func Repository(dir string, made bool) []Item {
	at := func(name string, kind Kind, why string) Item {
		one := Item{Path: filepath.Join(dir, name), Kind: kind, Why: why, New: made}
		if kind == Config {
			one.GitDir = dir
		}
		return one
	}
	return []Item{
		{Path: dir, Kind: Entry, Why: "git would take hooks and configuration from where it leads"},
		at("config", Config, "git runs what it names"),
		at("config.worktree", Config, "git runs what it names"),
		at("hooks", Fixed, "git runs what is in it"),
		at("commondir", Absent, "git would take hooks and configuration from where it says"),
		at("remotes", Absent, "git takes addresses from there, which can name programs"),
		at("branches", Fixed, "git takes addresses from there, which can name programs"),
	}
}
