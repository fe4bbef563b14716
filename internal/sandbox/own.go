//go:build linux

package sandbox

import (
	"slices"
	"sync"
	"time"

	"tipstaff/internal/paths"
	"tipstaff/internal/profile"
)

// ownFiles are tipstaff's own files as they are now.
func (s *Sandbox) ownFiles() []profile.Own {
	if s.o.Own == nil {
		return nil
	}
	return s.o.Own()
}

// lately is where tipstaff's own files were a moment ago. Every command that names a
// directory asks, and files do not move that often.
type lately struct {
	mu    sync.Mutex
	at    time.Time
	files []profile.Own
}

// moment is how old an answer may be. What commands are kept from does not depend on
// it, only which directories a caller can open.
const moment = time.Second

func (l *lately) ask(find func() []profile.Own) []profile.Own {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at.IsZero() || time.Since(l.at) > moment {
		l.files, l.at = find(), time.Now()
	}
	return l.files
}

// holdsOwn reports whether a file of tipstaff's own, or a link by which it is
// reached, lies in a directory. Such a directory does not become writable because a
// caller names it: with Landlock alone, what is readable there could be written.
func (s *Sandbox) holdsOwn(dir string) bool {
	in := func(path string) bool { return paths.Within(path, dir) && !paths.Within(path, s.o.Directory) }
	return slices.ContainsFunc(s.lately.ask(s.ownFiles), func(o profile.Own) bool {
		return o.Readable && in(o.Path) || o.Name != "" && o.Name != o.Path && in(o.Name)
	})
}
