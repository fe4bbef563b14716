//go:build linux

package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"tipstaff/internal/plainfile"
	"tipstaff/internal/proc"
)

// sshSettings are where ssh looks for the machine's settings. They begin at these files,
// of which it asks no owner.
var sshSettings = []string{"/etc/ssh/ssh_config", "/usr/etc/ssh/ssh_config"}

// adopt covers the files that the machine's settings of ssh include by copies which belong
// to the server's user. ssh takes them from root and from its own user only, and in a user
// namespace that has but one user, root's files are nobody's: it would end with "Bad owner
// or permissions", and git with it. The copies are as of when the view was laid out.
func (v *view) adopt() error {
	if os.Geteuid() == 0 {
		return nil
	}
	dir := filepath.Join(v.scratch.dir, "adopted")
	v.scratch.making.Lock()
	defer v.scratch.making.Unlock()
	for _, path := range sshIncludes(sshSettings) {
		if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
			return err
		}
		name := sha256.Sum256([]byte(path))
		copied := filepath.Join(dir, hex.EncodeToString(name[:]))
		if err := copyRevealed(path, copied, ""); err != nil {
			return err
		}
		if _, err := os.Lstat(copied); err == nil && v.visible(path) && !v.writable(path) {
			v.mounts = append(v.mounts, proc.Mount{Path: path, Source: copied, ReadOnly: true})
		}
	}
	return nil
}

// maxIncludes is far more than settings include.
const maxIncludes = 256

// sshIncludes returns root's files that settings of ssh include, directly or by others, by
// their paths without links.
func sshIncludes(files []string) (found []string) {
	for i := 0; i < len(files) && len(found) < maxIncludes; i++ {
		text, err := plainfile.Read(files[i], maxRevealed)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(strings.NewReplacer("=", " ", `"`, "").Replace(line))
			if len(words) == 0 || !strings.EqualFold(words[0], "include") {
				continue
			}
			for _, pattern := range words[1:] {
				if !filepath.IsAbs(pattern) {
					pattern = filepath.Join("/etc/ssh", pattern)
				}
				matches, _ := filepath.Glob(pattern) // ssh includes nothing by a malformed one
				for _, path := range matches {
					if path, err = filepath.EvalSymlinks(path); err == nil && ofRoot(path) && !slices.Contains(found, path) {
						files, found = append(files, path), append(found, path)
					}
				}
			}
		}
	}
	return found
}

// ofRoot reports whether a regular file is root's, and nobody else can write it.
func ofRoot(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&fs.FileMode(0o022) != 0 {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0
}
