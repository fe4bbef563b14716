package profile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"tipstaff/internal/plainfile"
)

// budget bounds how much one Resolve may still read of files that commands can write.
// Without it, a few files from a command or an archive would keep the server busy for
// ever: a configuration that includes itself twelve times is read 12^10
// times by a reader that does as git does.
type budget struct {
	entries      int // of directories
	repositories int // repositories
	names        int // bytes of the names of directories that wait to be searched
	files        int // of git, and lines that include one
	bytes        int // of these files
	ended        func() bool
}

const (
	defaultEntries      = 5_000_000
	defaultRepositories = 5000
	maxNames            = 256 << 20
	perName             = 32 // beside its bytes
	maxNotes            = 1000
	maxFiles            = 100_000
	maxBytes            = 256 << 20
	// of one repository
	maxIncludes  = 256
	maxWorkTrees = 1000
	// of a path: each look at one asks for all directories above it
	maxDirectories = 128
	// of links on a path, and of its bytes with a NUL, as the kernel counts
	maxLinks = 40
	maxPath  = 4096
)

// tooDeep reports whether a path has more directories than are followed.
func tooDeep(path string) bool { return strings.Count(path, "/") > maxDirectories }

// followable reports whether a path in one of git's files is followed. The
// kernel, and so git, accepts none that is longer.
func (r *resolver) followable(path string) bool {
	if len(path) >= maxPath {
		return false
	}
	_, err := followLinks(path)
	if errors.Is(err, errDeep) {
		r.tooMuch(fmt.Sprintf("git is led to %.100s…, %v", path, errDeep))
		return false
	}
	return true
}

// outOfBudget reports whether the budget is used up or the context has ended.
// Repositories that were not reached have no protection then, so no command may
// run.
func (r *resolver) outOfBudget() bool {
	b := &r.budget
	if r.exhausted {
		return true
	}
	if b.entries > 0 && b.repositories > 0 && b.names > 0 && b.files > 0 && b.bytes > 0 && !b.ended() {
		return false
	}
	r.exhaust("the workspace is too large to be searched for repositories; use a smaller one")
	return true
}

// exhaust notes why the search goes no further.
func (r *resolver) exhaust(why string) {
	if !r.exhausted {
		r.partial, r.exhausted = true, true
		r.Notes = append(r.Notes, why) // whatever was noted before
	}
}

// entriesOf reads a directory of git's as far as the budget goes.
func (r *resolver) entriesOf(dir string) (list []os.DirEntry, err error) {
	f, err := plainfile.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for !r.outOfBudget() {
		entries, err := f.ReadDir(min(batch, r.budget.entries))
		r.budget.entries -= len(entries)
		r.budget.files -= len(entries)
		list = append(list, entries...)
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, err
		}
	}
	return list, nil
}

// tooMuch notes that a repository has more of something than is followed. If a
// person has made the repository, no command may run; if commands have, the
// guard accepts no setting of it that names a program.
func (r *resolver) tooMuch(why string) {
	r.unfollowed = append(r.unfollowed, Unfollowed{Repository: r.git.owner, Why: why})
	r.note("%s, so what it leads to is not protected", why)
}

// Unfollowed is a repository of which not everything was followed.
type Unfollowed struct {
	Repository string // of GitDirs, or a file of git's outside of them
	Why        string
}
