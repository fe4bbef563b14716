//go:build linux

package sandbox

import (
	"slices"
	"sync"
	"time"

	"tipstaff/internal/paths"
	"tipstaff/internal/sandbox/profile"
)

// ownFiles returns tipstaff's own files as they are now.
func (s *Sandbox) ownFiles() []profile.OwnFile {
	if s.o.OwnFiles == nil {
		return nil
	}
	return s.o.OwnFiles()
}

// ownFileCache caches where tipstaff's own files are. Every command that names a directory
// asks for them, and files move rarely.
type ownFileCache struct {
	mu    sync.Mutex
	at    time.Time
	files []profile.OwnFile
}

// ownCacheAge is the greatest age of an answer. A stale one exposes no file: it only
// decides which directories a caller can make writable.
const ownCacheAge = time.Second

func (l *ownFileCache) ask(find func() []profile.OwnFile) []profile.OwnFile {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at.IsZero() || time.Since(l.at) > ownCacheAge {
		l.files, l.at = find(), time.Now()
	}
	return l.files
}

// holdsOwn reports whether a directory contains a file of tipstaff's own, or a link
// by which one is reached. A caller cannot make such a directory writable by naming
// it: with Landlock alone, commands could write every readable file in it.
func (s *Sandbox) holdsOwn(dir string) bool {
	own := s.ownWorkspace()
	in := func(path string) bool {
		return paths.Within(path, dir) && (own == "" || !paths.Within(path, own))
	}
	return slices.ContainsFunc(s.ownCache.ask(s.ownFiles), func(o profile.OwnFile) bool {
		return o.Readable && in(o.Path) || o.Name != "" && o.Name != o.Path && in(o.Name)
	})
}
