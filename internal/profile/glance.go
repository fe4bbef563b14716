package profile

import (
	"path/filepath"
)

// mostNames is how many names a directory may have in which Entries looks below.
const mostNames = 256

// Entries gives the paths by which git finds repositories in a directory and in
// those right below it: most that come are found there. below are the directories
// in it that are none yet. It is no look through the workspace, and costs a look
// at each directory that it finds; in one with very many names it finds only what
// the directory itself is. Both lists are sorted.
func Entries(dir string) (entries, below []string) {
	entries = entriesOf(dir)
	f, err := openDirectory(dir)
	if err != nil {
		return entries, nil
	}
	defer f.Close()
	names, _ := f.ReadDir(mostNames + 1)
	if len(names) > mostNames {
		return entries, nil
	}
	for _, e := range names {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() || e.Name() == ".git" {
			continue
		}
		if own := entriesOf(path); len(own) > 0 {
			entries = append(entries, own...)
		} else {
			below = append(below, path)
		}
	}
	return sorted(entries), sorted(below)
}

// entriesOf gives the path by which git finds a repository in one directory.
func entriesOf(dir string) []string {
	if path := filepath.Join(dir, ".git"); exists(path) {
		return []string{path}
	}
	if isRepository(dir) {
		return []string{dir}
	}
	return nil
}

// Signs gives what comes or changes in the directory of a repository when git's
// view of it does: a file that leads elsewhere, work trees. None has to exist.
func Signs(entry string) []string {
	return []string{filepath.Join(entry, "commondir"), filepath.Join(entry, "worktrees")}
}
