package guard

import (
	"log/slog"
	"path/filepath"
)

// Options say where a guard keeps what it puts back.
type Options struct {
	// Aside is a directory out of the commands' reach. It is made when it is needed.
	Aside string
	Log   *slog.Logger
}

// Kind says how the content of an item is judged.
type Kind int

const (
	// Fixed is a file or directory that no command changes, makes or removes.
	Fixed Kind = iota
	// Config is a configuration of git: keys that name no program may change.
	Config
	// Absent is a file that is not there, and that no command makes.
	Absent
	// Pointer is a file .git: it may lead to the directory of a repository that is
	// guarded, and nowhere else.
	Pointer
	// WorkTree is a file gitdir: it says where a linked work tree is, which git moves.
	// It may lead to any .git where commands may write.
	WorkTree
	// Entry is the directory by which git finds a repository: what takes its place may
	// not lead elsewhere. What is in it does not count.
	Entry
)

// Item is a file or directory that steers others.
type Item struct {
	Path string // canonical
	Kind Kind
	Why  string // what it steers, as a reason
	// GitDir is the directory of the repository that a Config belongs to.
	GitDir string
	// Pinned says that no command can write it while the pin stands.
	Pinned bool
	// Stage is a directory beside a pinned Config that is pinned as well: a new
	// version is made ready there. "": the pin has no door.
	Stage string
	// Mild says that honest work may change it, as a checkout does: the command is
	// ended only when it does so again after the change was put back.
	Mild bool
	// Late says that it is judged when a command ends, or a second after a change:
	// tools make it in several steps, and nothing obeys it that quickly.
	Late bool
	// New says that commands may have made the item: nothing in it has been
	// accepted yet.
	New bool
}

// Binder pins files: mounts a file on itself, read-only, wherever commands run. It
// is the file of this name in a directory that is pinned already. [proc.Enclosure]
// is one.
type Binder interface {
	Bind(dir, name string) error
}

func split(path string) (dir, name string) { return filepath.Dir(path), filepath.Base(path) }
