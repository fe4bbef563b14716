package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tipstaff/internal/paths"
	"tipstaff/internal/plainfile"
)

// search goes through the workspaces for git repositories, nearest first. A
// repository deep in third-party code (node_modules) is found last: a person rarely
// works there, so the bound cuts such ones off first.
type search struct {
	near, thirdParty []pendingDirs
	entries          map[string]bool      // paths by which repositories are found, and whether each was handled
	dirs             map[string]bool      // of repositories, likewise
	knownDirs        map[string]bool      // of repositories that an earlier Resolve has found
	configs          map[inode]readConfig // that were read, each file once
	owner            string               // the repository that is being pinned
	invalid          bool                 // git would not accept it as one now
}

// pendingDirs are directories, all in one directory, that have to be searched. Their
// full paths would take too much memory: a command can make a million of them below a
// long path.
type pendingDirs struct {
	dir   string
	names []string
}

// next takes the first path off a list, which must not be empty.
func (r *resolver) next(list *[]pendingDirs) string {
	first := &(*list)[0]
	path := filepath.Join(first.dir, first.names[0])
	r.budget.names += len(first.names[0]) + perName
	if first.names = first.names[1:]; len(first.names) == 0 {
		*list = (*list)[1:]
	}
	return path
}

// isThirdParty names directories full of third-party code or output of tools.
func isThirdParty(name string) bool {
	switch name {
	case "node_modules", "vendor", "target", "site-packages", "__pycache__", ".venv", "venv", ".tox", ".cache", ".terraform", "Pods", "dist", "build":
		return true
	}
	return false
}

// searchRepositories finds the repositories, the known ones first.
func (r *resolver) searchRepositories() {
	s := &search{entries: map[string]bool{}, dirs: map[string]bool{}, knownDirs: map[string]bool{}, configs: map[inode]readConfig{}}
	r.git = s
	for _, dir := range r.m.KnownGitDirs {
		s.knownDirs[dir] = true
	}
	for _, path := range r.m.KnownRepositories {
		if !r.writable(path) || r.outOfBudget() {
			continue // of another workspace
		}
		if dir, rest := existing(filepath.Dir(path)); rest == "" {
			r.repository(filepath.Join(dir, filepath.Base(path)))
		}
	}
	for _, path := range r.Workspace {
		s.near = append(s.near, pendingDirs{path, []string{""}})
	}
	for len(s.near)+len(s.thirdParty) > 0 && !r.outOfBudget() {
		list := &s.near
		if len(*list) == 0 {
			list = &s.thirdParty
		}
		r.searchDir(s, r.next(list))
	}
	r.Repositories, r.Git = sorted(r.Repositories), outermost(r.Git)
	for dir := range s.dirs {
		r.GitDirs = append(r.GitDirs, dir)
	}
	r.GitDirs = sorted(r.GitDirs)
	r.globalConfig()
}

// batch is how many entries of a directory are read at once.
const batch = 1024

// searchDir searches one directory. One that cannot be opened gets a note: a command
// can close it and open it again.
func (r *resolver) searchDir(s *search, dir string) {
	if r.isHidden(dir) {
		return
	}
	f, err := plainfile.OpenDir(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.partial = true
			r.note("%s cannot be searched for repositories: %v", dir, reasonOf(err))
			r.closeOff(dir)
		}
		return
	}
	defer f.Close()
	near, thirdParty := pendingDirs{dir: dir}, pendingDirs{dir: dir}
	parts := 0 // of a repository: HEAD, objects, refs
	for !r.outOfBudget() {
		entries, err := f.ReadDir(min(batch, r.budget.entries))
		r.budget.entries -= len(entries)
		for _, e := range entries {
			switch name := e.Name(); {
			case name == ".git":
				r.repository(filepath.Join(dir, name))
			case name == "HEAD", name == "objects", name == "refs":
				parts++
				fallthrough
			default:
				switch {
				case e.Type() != fs.ModeDir:
				case isThirdParty(name):
					thirdParty.names = append(thirdParty.names, name)
				default:
					near.names = append(near.names, name)
				}
			}
		}
		if err != nil {
			break
		}
	}
	bare := parts == 3
	if bare {
		r.repository(dir)
	}
	if bare {
		near.names = slices.DeleteFunc(near.names, func(name string) bool { return slices.Contains(gitsOwn, name) })
	}
	s.near, s.thirdParty = r.enqueue(s.near, near), r.enqueue(s.thirdParty, thirdParty)
}

// enqueue adds directories to a list.
func (r *resolver) enqueue(list []pendingDirs, more pendingDirs) []pendingDirs {
	for _, name := range more.names {
		r.budget.names -= len(name) + perName
	}
	if len(more.names) > 0 {
		list = append(list, more)
	}
	return list
}

// closeOff pins a whole directory of the user's that the server cannot open:
// there may be repositories in it, and a command could open it. A directory
// that commands have closed is not pinned.
func (r *resolver) closeOff(dir string) {
	info, err := os.Lstat(dir)
	if _, seen := enclosing(dir, r.m.Searched); err == nil && info.IsDir() && !seen && ownedByUser(info) {
		r.closed = append(r.closed, dir)
		r.pins[dir] = Pin{Entry: Entry{dir, true, "it cannot be searched for repositories (chmod u+rx would let the server search it)"}}
	}
}

// pinLinks pins the symbolic links through which a path resolves.
func (r *resolver) pinLinks(path, why string) {
	for range maxLinks {
		link, rest := firstLink(path)
		if link == "" || r.outOfBudget() || !r.followable(path) {
			return
		}
		if r.writable(link) {
			pin := Pin{Entry: Entry{link, false, "it is a link on the way to what is protected: " + why}, Link: true, of: r.git.owner}
			if other, shared := r.pins[link]; shared && other.of != pin.of {
				pin.of = ""
			}
			r.pins[link] = pin
		}
		target, err := os.Readlink(link)
		if err != nil {
			return
		}
		path = filepath.Join(resolveFrom(filepath.Dir(link), target), rest)
	}
}

// firstLink returns the first part of a path that is a symbolic link, and the rest;
// "" if there is no link.
func firstLink(path string) (link, rest string) {
	at := "/"
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if err != nil {
			break // nor is there a link below it
		}
		if info.Mode().Type() == fs.ModeSymlink {
			return at, strings.TrimPrefix(strings.TrimPrefix(path, at), "/")
		}
	}
	return "", ""
}

// isHidden reports whether a path is hidden or is in something hidden.
func (r *resolver) isHidden(path string) bool {
	return slices.ContainsFunc(r.Hidden, func(h Entry) bool { return paths.Within(path, h.Path) })
}

// repository handles a path by which git finds a repository: a directory .git, a
// file .git that names one, or the directory of a bare one.
func (r *resolver) repository(path string) {
	if r.git.entries[path] {
		return
	}
	r.git.entries[path] = true
	if !r.writable(path) {
		return
	}
	if tooDeep(path) {
		r.exhaust(fmt.Sprintf("the workspace has a repository more than %d directories deep, which cannot be protected: %.100s…", maxDirectories, path))
		return
	}
	info, err := os.Lstat(path)
	if err != nil {
		return
	}
	if info.Mode().Type() == fs.ModeSymlink {
		r.linkedRepository(path)
		return
	}
	if !info.IsDir() {
		r.gitFile(path)
		return
	}
	if r.gitDir(path) {
		r.Repositories = append(r.Repositories, path)
	}
}

// linkedRepository handles a .git that is a symbolic link, which is pinned itself.
func (r *resolver) linkedRepository(path string) {
	real, info, err := canonical(path)
	if err != nil {
		return
	}
	r.pinLinks(path, "it says where hooks are")
	if !r.writable(real) {
		r.note("%s leads to %s, outside of the workspace, where nothing is made writable", path, real)
		return
	}
	if info.IsDir() && r.gitDir(real) {
		r.Repositories = append(r.Repositories, path)
	}
}

// writable reports whether a path is in something that commands may write.
func (r *resolver) writable(path string) bool {
	for _, list := range [][]string{r.Workspace, r.Git, r.Caches} {
		if _, in := enclosing(path, list); in {
			return true
		}
	}
	return false
}
