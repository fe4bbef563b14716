package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
)

// shownIn is where what is shown of a hidden directory is put together, in the
// directory of a room.
func shownIn(room, dir string) string { return filepath.Join(room, "shown", filepath.Base(dir)) }

// sshConfig is the name of ssh's settings, which are shown with a beginning of ours:
// of each setting the first value counts (ssh_config(5)). Connections that are shared
// by a socket cannot be had here, the agent is the one that is lent, and it is not
// to be forwarded.
const (
	sshConfig     = "config"
	sshConfigHead = "ControlMaster no\nControlPath none\nIdentityAgent SSH_AUTH_SOCK\nForwardAgent no\n\n"
)

// showIn puts a directory in the place of a hidden one that has those of its files
// which stay readable, and reports whether there are any.
func (v *view) showIn(dir string) (bool, error) {
	in := func(path string) bool { return filepath.Dir(path) == dir }
	if !slices.ContainsFunc(v.paths.Shown, in) {
		return false, nil
	}
	v.spots = append(v.spots, spot{in: filepath.Dir(shownIn("", dir))})
	v.coverBy(cover{path: dir, source: shownIn("", dir), readOnly: true})
	for _, path := range slices.DeleteFunc(slices.Clone(v.paths.Shown), func(path string) bool { return !in(path) }) {
		if copiedWhole(path) {
			v.files = append(v.files, path)
		} else if err := v.bring(path, true); err != nil {
			return false, err
		}
	}
	return true, nil
}

// copiedWhole reports whether a file is shown by a copy, which is as old as the room's
// mounts: ssh's settings, and what a link leads to.
func copiedWhole(path string) bool {
	info, err := os.Lstat(path)
	return filepath.Base(path) == sshConfig || err != nil || !info.Mode().IsRegular()
}

// showFile shows a file by a copy.
func (v *view) showFile(path, into string) error {
	head := ""
	if filepath.Base(path) == sshConfig {
		head = sshConfigHead
	}
	return copyShown(path, filepath.Join(into, filepath.Base(path)), head)
}

// maxShown bounds what is copied; programs go without a longer one.
const maxShown = 1 << 20

func copyShown(from, to, head string) error {
	text, err := os.ReadFile(from)
	if err != nil || len(text) > maxShown {
		return nil //nolint:nilerr // what the server cannot read is not shown
	}
	fresh := to + ".new" // commands of the room may be reading the old one
	if err := os.WriteFile(fresh, bytes.Join([][]byte{[]byte(head), text}, nil), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, to)
}
