package gitconfig

// Settings are the values by which a configuration refers to other files and
// directories. As in git, the last entry of a key counts.
type Settings struct {
	HooksPath      string // core.hooksPath
	WorkTree       string // core.worktree
	WorktreeConfig bool   // extensions.worktreeConfig: config.worktree counts too
	Bare           *bool  // core.bare; nil if it is not set
}

// SettingsOf reads the settings from entries, without includes. A value that
// git would refuse counts as true if that makes more files count.
func SettingsOf(entries []Entry) Settings {
	var s Settings
	for i := range entries {
		e := &entries[i]
		switch {
		case e.is("core", "hookspath"):
			s.HooksPath = e.Value
		case e.is("core", "worktree"):
			s.WorkTree = e.Value
		case e.is("core", "bare"):
			value, _ := e.isTrue()
			s.Bare = &value
		case e.is("extensions", "worktreeconfig"):
			value, ok := e.isTrue()
			s.WorktreeConfig = value || !ok
		}
	}
	return s
}

// Includes returns the paths of the files that the configuration includes, in
// order, whether or not the condition of an includeIf is met. They are as
// written: relative to the file, or beginning with ~/.
func Includes(entries []Entry) []string {
	var list []string
	for i := range entries {
		e := &entries[i]
		if e.is("include", "path") || e.Section == "includeif" && e.HasSub && e.Name == "path" {
			list = append(list, e.Value)
		}
	}
	return list
}
