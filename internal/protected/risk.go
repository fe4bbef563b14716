package protected

import (
	"fmt"
	"io/fs"
	"os"

	"tipstaff/internal/paths"
)

// reach is what commands can change.
type reach struct {
	// writable are the directories in which they may write, canonical.
	writable []string
	// closed are tipstaff's own directories inside of a writable one that
	// commands cannot change, and the directories between the two.
	closed []string
}

// risk returns how a command, or another user, could change what is read by a
// resolution; "" if they cannot.
func (r reach) risk(w resolution) string {
	for _, s := range w.steps {
		if why := foreign(s); why != "" {
			return why
		}
		if root := r.opens(s.dir, s.dirInfo); root != "" && !r.holds(s.path()) {
			return "commands may write in " + root
		}
	}
	switch {
	case w.err != nil && !w.missing():
		return fmt.Sprintf("it cannot be looked at: %v", reasonOf(w.err))
	case w.target == nil || w.target.IsDir():
		return ""
	}
	if n := links(w.target); n > 1 && canWrite(w.target) {
		return fmt.Sprintf("it has %d names (hard links), and one of them may lie where commands write", n)
	}
	if root := r.opens(w.path, w.target); root != "" && !r.holds(w.path) {
		return "commands may write in " + root
	}
	return ""
}

// opens returns the writable directory around path if a command could change
// what is at path: add or remove names in a directory, write to a file.
func (r reach) opens(path string, info fs.FileInfo) string {
	if !canWrite(info) {
		return ""
	}
	for _, root := range r.writable {
		if paths.Within(path, root) {
			return root
		}
	}
	return ""
}

// holds reports whether commands can neither change nor move what is at path,
// although the directory around it is writable.
func (r reach) holds(path string) bool {
	for _, dir := range r.closed {
		if paths.Within(path, dir) || paths.Within(dir, path) {
			return true
		}
	}
	return false
}

// foreign returns why a user who is neither root nor the server's decides what
// a step leads to; "" if none does. A directory with the sticky bit that all
// users may write is acceptable if the file in it belongs to root or the
// server's user. So is one on a file system that is mounted read-only: a
// Kubernetes ConfigMap has mode 0777.
func foreign(s step) string {
	if IsForeign(s.dirInfo) {
		return "the directory " + s.dir + " belongs to another user"
	}
	if s.isLink() && IsForeign(s.info) {
		return "the symbolic link " + s.path() + " belongs to another user"
	}
	if s.dirInfo.Mode().Perm()&0o002 == 0 || readOnly(s.dir) {
		return ""
	}
	if s.dirInfo.Mode()&fs.ModeSticky != 0 && s.info != nil && !IsForeign(s.info) {
		return ""
	}
	return "every user may write in the directory " + s.dir
}

// canWrite reports whether the server's user may write to a file without
// capabilities, which commands do not have. The owner of a file can change its
// mode, and so may write.
func canWrite(info fs.FileInfo) bool {
	owner, known := ownerOf(info)
	return !known || owner == os.Geteuid() || info.Mode().Perm()&0o022 != 0
}

// IsForeign reports whether a file belongs to a user who is neither root nor
// the server's. In a user namespace (a rootless container), all owners without a
// mapping look like one user, whom no process inside can become. They count as root
// does: they are outside of the container, like the user who made it.
func IsForeign(info fs.FileInfo) bool {
	owner, known := ownerOf(info)
	return known && owner != 0 && owner != os.Geteuid() && !Unmapped(owner)
}
