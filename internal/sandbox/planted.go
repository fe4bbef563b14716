//go:build linux

package sandbox

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tipstaff/internal/profile"
)

// A file commondir in the directory of a repository makes git take hooks and
// configuration from elsewhere. No mount can forbid a file that does not exist, so
// a command can make one. No repository has it but the directories of linked work
// trees, which have it from the first: one that comes later is moved out of git's
// way as soon as it is seen, which is when the command ends.

// clearPlanted deals with what was planted, and gives what is left of it. known are
// the repositories that earlier looks have found; what they had then stays theirs.
func (s *Sandbox) clearPlanted(p profile.Paths, known []string) (left []profile.Place) {
	for _, planted := range p.Planted {
		dir := filepath.Dir(planted.Path)
		if s.status.tier != Namespaces || filepath.Base(planted.Path) != "commondir" || !slices.Contains(known, dir) || s.hadPlanted(dir) {
			s.notePlanted(dir)
			s.warnOnce("a file was planted in a repository; nobody should run git there before it is gone", "file", planted.Path, "why", planted.Why)
			left = append(left, planted)
			continue
		}
		to, err := moveAside(dir, filepath.Base(planted.Path))
		if err != nil {
			s.o.Log.Error("a file was planted in a repository and cannot be moved away; nobody should run git there before it is gone", "file", planted.Path, "why", planted.Why, "error", err)
			left = append(left, planted)
			continue
		}
		s.o.Log.Warn("a file was planted in a repository; it was moved away", "file", planted.Path, "to", to, "why", planted.Why)
	}
	return left
}

func (s *Sandbox) hadPlanted(dir string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.planted[dir]
}

// notePlanted remembers that a repository was found with such a file.
func (s *Sandbox) notePlanted(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.planted[dir] = true
}

// moveAside renames a file in its directory. The directory is held in place by the
// pins in it, and a link that has the name is renamed itself.
func moveAside(dir, name string) (to string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	to = fmt.Sprintf("%s.planted-%s", name, strings.ToLower(rand.Text()[:8]))
	if err := root.Rename(name, to); err != nil {
		return "", err
	}
	return filepath.Join(dir, to), nil
}

// warnOfHooks tells of hooks in a repository that has come while the server ran:
// until it is found, nothing keeps whoever makes it from giving it some.
func (s *Sandbox) warnOfHooks(dir string) {
	entries, _ := os.ReadDir(filepath.Join(dir, "hooks"))
	for _, e := range entries {
		if !e.IsDir() && !strings.HasSuffix(e.Name(), ".sample") {
			s.warnOnce("a repository that came while the server runs has hooks; look at them before you run git there", "hook", filepath.Join(dir, "hooks", e.Name()))
			return
		}
	}
}
