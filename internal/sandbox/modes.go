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
)

// Modes keeps the modes of the server's own directories. Landlock does not see
// chmod, so in that tier a command of the same user can lock the server out of its
// own trail. Modes holds the directories open and restores their modes through the
// descriptors, even if their paths have changed. Its methods may be called
// concurrently; those of a nil Modes do nothing.
type Modes struct {
	log *slog.Logger

	mu   sync.Mutex
	kept []keptMode
}

// keptMode is a directory, and the mode that it must have.
type keptMode struct {
	dir  *os.File
	want fs.FileMode
	// least: only the bits of want must be set. A person may change others of a
	// directory that is not the server's.
	least bool
}

// NewModes returns Modes that keep no directory yet.
func NewModes(log *slog.Logger) *Modes { return &Modes{log: log} }

// Add keeps the modes of the server's own directories as they are now, and the bits
// that their owner needs to pass through the directories above them.
func (m *Modes) Add(dirs ...string) error {
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

func (m *Modes) hold(dir string, least bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.kept, func(h keptMode) bool { return h.dir.Name() == dir })
	if i >= 0 && (least || !m.kept[i].least) {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil || !st.IsDir() {
		return errors.Join(err, f.Close())
	}
	h := keptMode{dir: f, want: modeOf(st), least: least}
	if least {
		h.want &= 0o500
	}
	if i >= 0 {
		_ = m.kept[i].dir.Close()
		m.kept[i] = h
		return nil
	}
	m.kept = append(m.kept, h)
	return nil
}

func modeOf(st fs.FileInfo) fs.FileMode {
	return st.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
}

// Restore restores the modes that have changed, and logs each. An error names the
// directory and the mode that it could not change. Without a change, it costs one
// system call for each directory.
func (m *Modes) Restore() error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var all error
	for _, h := range m.kept {
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
func (m *Modes) Close() error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	for _, h := range m.kept {
		err = errors.Join(err, h.dir.Close())
	}
	m.kept = nil
	return err
}
