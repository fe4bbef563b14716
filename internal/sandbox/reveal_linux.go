package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"

	"tipstaff/internal/plainfile"
)

// revealDir returns the directory of a session sandbox in which the shown files of a
// hidden directory are collected.
func revealDir(session, dir string) string {
	return filepath.Join(session, "shown", filepath.Base(dir))
}

// sshConfig is the name of ssh's settings, which are shown with these lines before
// them: the first value of each setting counts (ssh_config(5)). Connections shared
// by a socket do not work here, the agent is the one that is lent, and it must not
// be forwarded.
const (
	sshConfig     = "config"
	sshConfigHead = "ControlMaster no\nControlPath none\nIdentityAgent SSH_AUTH_SOCK\nForwardAgent no\n\n"
)

// revealIn covers a hidden directory with one that holds its files that stay readable,
// and reports whether there are any.
func (v *view) revealIn(dir string) (bool, error) {
	in := func(path string) bool { return filepath.Dir(path) == dir }
	if !slices.ContainsFunc(v.paths.Shown, in) {
		return false, nil
	}
	v.points = append(v.points, mountPoint{in: filepath.Dir(revealDir("", dir))})
	v.coverBy(cover{path: dir, source: revealDir("", dir), readOnly: true})
	for _, path := range slices.DeleteFunc(slices.Clone(v.paths.Shown), func(path string) bool { return !in(path) }) {
		if copiedWhole(path) {
			v.files = append(v.files, path)
		} else if err := v.mountAtOwnPath(path, true); err != nil {
			return false, err
		}
	}
	return true, nil
}

// copiedWhole reports whether a file is shown by a copy, as of when the mounts were
// made: ssh's settings, and the target of a link.
func copiedWhole(path string) bool {
	info, err := os.Lstat(path)
	return filepath.Base(path) == sshConfig || err != nil || !info.Mode().IsRegular()
}

// revealFile shows a file by a copy.
func (v *view) revealFile(path, into string) error {
	head := ""
	if filepath.Base(path) == sshConfig {
		head = sshConfigHead
	}
	return copyRevealed(path, filepath.Join(into, filepath.Base(path)), head)
}

// maxRevealed bounds the copies; a longer file is not shown.
const maxRevealed = 1 << 20

func copyRevealed(from, to, head string) error {
	text, err := plainfile.Read(from, maxRevealed)
	if err != nil {
		return nil //nolint:nilerr // what the server cannot read is not shown
	}
	// Commands of the session sandbox may be reading the old one. No atomicfile: the copy
	// ends with its server, and two syncs would delay each command.
	fresh := to + ".new"
	if err := os.WriteFile(fresh, bytes.Join([][]byte{[]byte(head), text}, nil), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, to)
}
