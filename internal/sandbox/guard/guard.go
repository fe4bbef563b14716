package guard

import (
	"log/slog"
	"path/filepath"
)

// Options configure a guard.
type Options struct {
	// Aside is a directory out of the commands' reach, for content that was put
	// back. It is created on first use.
	Aside string
	Log   *slog.Logger
}

// Kind says how the content of an item is judged.
type Kind int

const (
	// Fixed is a file or directory that commands may not change, make or
	// remove.
	Fixed Kind = iota
	// Config is a git configuration: commands may change keys that name no
	// program.
	Config
	// Absent is a file that does not exist, and that commands may not make.
	Absent
	// Pointer is a file .git: it may only lead to the directory of a repository
	// that is guarded.
	Pointer
	// WorkTree is a file gitdir, which says where a linked work tree is. It may
	// lead to any .git where commands may write, because git moves work trees.
	WorkTree
	// Entry is the directory by which git finds a repository. What replaces it
	// may not lead elsewhere. Its content is not judged.
	Entry
)

// Item is a file or directory that steers programs.
type Item struct {
	Path string // canonical
	Kind Kind
	Why  string // what it steers, for messages
	// GitDir is the directory of the repository that a Config belongs to.
	GitDir string
	// Pinned reports that no command can write it while the pin is in place.
	Pinned bool
	// Stage is a directory of the repository of a pinned Config that is pinned as
	// well, in which new versions are prepared. If it is empty, commands cannot change
	// the Config at all.
	Stage string
	// Mild says that honest work may change the item, as a checkout does. The
	// change is put back all the same, but only repeated changes end the
	// command.
	Mild bool
	// Late says that the item is judged when a command ends, or one second
	// after a change, because tools make it in several steps and no program
	// obeys it sooner.
	Late bool
	// New says that commands may have made the item, so that its present
	// content is judged before it is accepted.
	New bool
}

// Binder pins files: Bind mounts the file name in dir, a directory that is
// already pinned, on itself, read-only, wherever commands run. [proc.Enclosure]
// is one.
type Binder interface {
	Bind(dir, name string) error
}

func split(path string) (dir, name string) { return filepath.Dir(path), filepath.Base(path) }
