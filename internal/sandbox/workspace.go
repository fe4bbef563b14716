//go:build linux

package sandbox

import (
	"path/filepath"
	"strings"

	"tipstaff/internal/paths"
)

// workspaceOf returns the directories that a command may change.
func (s *Sandbox) workspaceOf(c Command) []string {
	if len(c.Workspace) > 0 {
		return c.Workspace
	}
	dir := c.Dir
	if c.SandboxOf != "" {
		dir = c.SandboxOf
	}
	if len(s.o.Workspace) > 0 {
		return s.o.Workspace
	}
	if paths.Within(dir, s.o.Directory) || s.personal(dir) || s.holdsOwn(dir) {
		return []string{s.o.Directory}
	}
	return []string{s.o.Directory, dir}
}

// personal reports whether a directory is the home, contains it, or lies in one of
// the home's directories of settings. Files there decide what the user's shell does
// next; a caller must not make them writable by naming the directory.
func (s *Sandbox) personal(dir string) bool {
	home, err := filepath.EvalSymlinks(s.o.Machine.Home)
	if err != nil || s.o.Machine.Home == "" {
		return false
	}
	return paths.Within(home, dir) || paths.Within(dir, home) && strings.HasPrefix(strings.TrimPrefix(dir, home+"/"), ".")
}
