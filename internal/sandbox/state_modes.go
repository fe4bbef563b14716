package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"tipstaff/internal/plainfile"
)

// ModeGuard keeps the modes of the server's own directories. Landlock does not see
// chmod, so in that tier a command of the same user can lock the server out of its
// own trail. ModeGuard holds the directories open and restores their modes through the
// descriptors, even if their paths have changed. Its methods may be called
// concurrently; those of a nil ModeGuard do nothing.
type ModeGuard struct {
	log *slog.Logger

	mu   sync.Mutex
	dirs []guardedDir
}

// guardedDir is a directory, and the mode that it must have.
type guardedDir struct {
	dir  *os.File
	want fs.FileMode
	// least: only the bits of want must be set. A person may change others of a
	// directory that is not the server's.
	least bool
}

// NewModeGuard returns a ModeGuard that keeps no directory yet.
func NewModeGuard(log *slog.Logger) *ModeGuard { return &ModeGuard{log: log} }

// Add keeps the modes of the server's own directories as they are now, and the bits
// that their owner needs to pass through the directories above them.
func (m *ModeGuard) Add(dirs ...string) error {
	if m == nil {
		return nil
	}
	for _, dir := range dirs {
		dir, err := filepath.EvalSymlinks(dir)
		if err == nil {
			err = m.hold(dir, false)
		}
		if err != nil {
			return fmt.Errorf("cannot keep a directory's mode: %w", err)
		}
		for up := filepath.Dir(dir); os.Geteuid() != 0 && up != filepath.Dir(up); up = filepath.Dir(up) {
			// The server's user cannot change the mode of one that it cannot
			// open; root needs no bits.
			_ = m.hold(up, true)
		}
	}
	return nil
}

// hold opens a directory and records its present mode as the one to restore. A
// directory that is held as a whole replaces one of which only the owner's bits
// are held (least), never the other way round: the stricter demand counts.
func (m *ModeGuard) hold(dir string, least bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.dirs, func(h guardedDir) bool { return h.dir.Name() == dir })
	if i >= 0 && (least || !m.dirs[i].least) {
		return nil
	}
	f, err := plainfile.OpenDir(dir)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil || !st.IsDir() {
		return errors.Join(err, f.Close())
	}
	h := guardedDir{dir: f, want: modeOf(st), least: least}
	if least {
		h.want &= 0o500
	}
	if i >= 0 {
		_ = m.dirs[i].dir.Close()
		m.dirs[i] = h
		return nil
	}
	m.dirs = append(m.dirs, h)
	return nil
}

func modeOf(st fs.FileInfo) fs.FileMode {
	return st.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
}

// Restore restores the modes that have changed, and logs each. An error names the
// directory and the mode that it could not change. Without a change, it costs one
// system call for each directory.
func (m *ModeGuard) Restore() error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var all error
	for _, h := range m.dirs {
		st, err := h.dir.Stat()
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		now := modeOf(st)
		want := h.want
		if h.least {
			want |= now
		}
		if now == want {
			continue
		}
		if err := h.dir.Chmod(want); err != nil {
			all = errors.Join(all, fmt.Errorf("the directory %s has the mode %04o, which locks the server out, and it cannot be set back to %04o: %w", h.dir.Name(), now.Perm(), want.Perm(), err))
			continue
		}
		m.log.Warn("the mode of a directory of the server was changed, perhaps by a command, and was set back; to keep such a change, stop the server first",
			"dir", h.dir.Name(), "found", fmt.Sprintf("%04o", now.Perm()), "set_back_to", fmt.Sprintf("%04o", want.Perm()))
	}
	return all
}

// Close closes the directories.
func (m *ModeGuard) Close() error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	for _, h := range m.dirs {
		err = errors.Join(err, h.dir.Close())
	}
	m.dirs = nil
	return err
}
