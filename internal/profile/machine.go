package profile

import (
	"path/filepath"
	"slices"
	"strings"
)

// Machine is what Resolve has to be told. The zero Machine has no home, no
// programs and no files of tipstaff's own.
type Machine struct {
	// Home is the user's home directory; "": there is none.
	Home string
	// Environ holds the server's variables, each "NAME=value".
	Environ []string
	// Path lists the directories in which programs are found. They stay as
	// they are, and no workspace is one of them.
	Path []string
	// StateDir and ConfigFiles are tipstaff's own, and hidden.
	StateDir    string
	ConfigFiles []string
	// Own are more of them, each as it is now, wherever it lies.
	Own []Own
	// Programs reports whether a program is found; nil: none is. It decides
	// which caches are made.
	Programs func(name string) bool
	// Known are Repositories that an earlier Resolve has found. They are looked
	// at before the workspace is looked through, so that no command can push
	// them out of the bound by filling the workspace.
	Known []string
	// KnownDirs are GitDirs that an earlier Resolve has found. They stay pinned
	// for as long as there is a directory: a command that takes HEAD out of a
	// repository must not free its hooks by that.
	KnownDirs []string
	// Seen are workspaces that were looked through: what is closed in them now was
	// closed by commands.
	Seen []string
	// Entries is how many directory entries are looked at in search of
	// repositories, at most; 0: five million.
	Entries int

	// Reveal is for which credentials secrets are not hidden: names of the third
	// column of secrets.txt.
	Reveal []string

	root string // in tests: what stands for /
}

// Own is a file or directory of tipstaff's own. Its path is canonical and counts
// as it is: who gives it has found it while it could be found. The zero Own is
// hidden.
type Own struct {
	Place
	Name string // another path by which it is reached; ""
	// Readable: it is pinned where it lies in something writable, not hidden.
	Readable bool
	// Kept: what is readable stays as it is also where Landlock alone is to see to
	// it. Nothing can be made directly in the directories around it then.
	Kept bool
}

const defaultEntries = 5_000_000

// variable gives the absolute paths that a variable holds. Of a name that
// stands twice the first counts, as getenv(3) has it.
func (m Machine) variable(name string) []string {
	for _, kv := range m.Environ {
		if n, value, _ := strings.Cut(kv, "="); n == name {
			return slices.DeleteFunc(filepath.SplitList(value), func(p string) bool { return !filepath.IsAbs(p) })
		}
	}
	return nil
}

// has reports whether one of the programs is found.
func (m Machine) has(programs []string) bool {
	return m.Programs != nil && slices.ContainsFunc(programs, m.Programs)
}
