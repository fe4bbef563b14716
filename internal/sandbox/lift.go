//go:build linux

package sandbox

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tipstaff/internal/profile"
)

// Pins make directories busy: nothing that runs confined can remove a repository.
// For one that was there before the server's commands that is right, it is a
// person's. One that came later may be removed by a command that does nothing
// else: rm, or git worktree remove, called as they are. It gets walls of its own
// then, without those pins. No program that hides in the workspace can ask for
// that, because it is nobody's command; in a shell's command, where others run as
// well, the pins stay.

// repository is what is kept in mind of one.
type repository struct {
	came bool // after its workspace had been looked through; in doubt not
	dir  bool // it is only the directory of one, not the path by which git finds it
}

// noteRepositories keeps in mind which repositories there are, and which have come.
// A room that is made later pins them too, whatever has been made of them.
func (s *Sandbox) noteRepositories(p profile.Paths) {
	for _, dir := range s.noted(p) {
		s.warnOfHooks(dir)
	}
}

// noted gives the directories of repositories that have come.
func (s *Sandbox) noted(p profile.Paths) (came []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	note := func(path string, dir bool) bool {
		is, known := s.repositories[path]
		if !known {
			is = repository{slices.ContainsFunc(s.seenThrough, func(w string) bool { return within(path, w) }), dir}
			s.repositories[path] = is
		}
		return is.came
	}
	for _, path := range p.Repositories {
		note(path, false)
	}
	for _, path := range p.GitDirs {
		if note(path, true) {
			came = append(came, path)
		}
	}
	owners := p.OwnersIn("/") // of work trees that are gone, git still knows something
	for path := range s.repositories {
		if !slices.Contains(owners, path) && errors.Is(unix.Access(path, unix.F_OK), unix.ENOENT) {
			delete(s.repositories, path)
		}
	}
	for _, w := range p.Workspace {
		if p.Complete() && !slices.Contains(s.seenThrough, w) {
			s.seenThrough = append(s.seenThrough, w)
		}
	}
	return came
}

// knownRepositories gives what looks have found, sorted: the paths by which git
// finds repositories, and what may be the directory of one.
func (s *Sandbox) knownRepositories() (entries, dirs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, r := range s.repositories {
		dirs = append(dirs, path)
		if !r.dir {
			entries = append(entries, path)
		}
	}
	slices.Sort(entries)
	slices.Sort(dirs)
	return entries, dirs
}

// removable gives, of repositories, those that came after the server had started.
func (s *Sandbox) removable(repositories []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(repositories), func(path string) bool { return !s.repositories[path].came })
}

// lift gives walls without the pins of what a command is to remove; those that it
// is given where there is nothing to lift. They are the command's alone.
func (s *Sandbox) lift(c Command, r *room, w *walls) (*walls, error) {
	if len(c.Argv) < 2 || s.status.tier != Namespaces || !filepath.IsAbs(c.Program) {
		return w, nil
	}
	if target, err := filepath.EvalSymlinks(c.Program); err == nil {
		c.Program = target // or it will not be found a second time either
	}
	goes := s.removable(removes(c, w.paths))
	if len(goes) == 0 || slices.ContainsFunc(w.paths.Writable(), func(dir string) bool { return within(c.Program, dir) }) {
		return w, nil // whoever can write the program could make it do more than remove
	}
	own, err := s.raise(r, w.paths.Without(goes))
	if err != nil {
		return nil, err
	}
	r.drop(w)
	return own, nil
}

// removes gives the repositories that a command removes with all that it was
// asked to; none where it might do anything else.
func removes(c Command, p profile.Paths) (repositories []string) {
	name, program := filepath.Base(c.Argv[0]), filepath.Base(c.Program)
	switch {
	case name == "rm" && slices.Contains([]string{"rm", "coreutils", "busybox"}, program):
		for _, path := range operands(c.Argv[1:]) {
			repositories = append(repositories, p.OwnersIn(located(c.Dir, path))...)
		}
	case name == "git" && program == "git":
		repositories = removesWorkTrees(c, p)
	}
	return repositories
}

// operands gives the arguments that are no options.
func operands(args []string) (list []string) {
	for i, arg := range args {
		if arg == "--" {
			return append(list, args[i+1:]...)
		}
		if !strings.HasPrefix(arg, "-") {
			list = append(list, arg)
		}
	}
	return list
}

// removesWorkTrees reads git [-C DIR] worktree remove [--force] TREE... and git
// worktree prune. Any other option of git may make it run something.
func removesWorkTrees(c Command, p profile.Paths) (repositories []string) {
	dir, args := c.Dir, c.Argv[1:]
	for len(args) > 2 && args[0] == "-C" {
		dir, args = located(dir, args[1]), args[2:]
	}
	if len(args) < 2 || args[0] != "worktree" {
		return nil
	}
	for _, arg := range args[2:] {
		if strings.HasPrefix(arg, "-") && !slices.Contains([]string{"-f", "-ff", "--force", "-v", "--verbose", "-n", "--dry-run", "--"}, arg) {
			return nil
		}
	}
	trees := slices.DeleteFunc(p.OwnersIn("/"), func(path string) bool {
		return filepath.Base(path) != ".git" || slices.Contains(p.GitDirs, path)
	})
	for _, tree := range trees {
		top := filepath.Dir(tree)
		named := func(arg string) bool { // git takes the end of its path for its name as well
			return located(dir, arg) == top || !filepath.IsAbs(arg) && strings.HasSuffix(top, "/"+filepath.Clean(arg))
		}
		if args[1] == "remove" && slices.ContainsFunc(operands(args[2:]), named) || args[1] == "prune" && unix.Access(tree, unix.F_OK) != nil {
			repositories = append(repositories, tree)
		}
	}
	return repositories
}

// located gives an argument as a path whose directory is canonical.
func located(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path = filepath.Clean(path)
	if up, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(up, filepath.Base(path))
	}
	return path
}

// howRemoved says how a repository can be removed that was in the way of a command,
// or that it cannot.
func (c *Confined) howRemoved(path string, busy bool) string {
	path = located(c.dir, path)
	owners := c.walls.paths.OwnersIn(path)
	if !busy || !c.tells || len(owners) == 0 || c.sandbox.status.tier != Namespaces {
		return ""
	}
	if len(c.sandbox.removable(owners)) < len(owners) {
		return " What was there before the server's commands is removed or moved by a person, outside."
	}
	return " It came while the server ran: rm, or git worktree remove, removes it when it is called directly, not by a shell or another program."
}
