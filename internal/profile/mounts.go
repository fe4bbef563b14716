package profile

import (
	"path/filepath"
	"strings"

	"tipstaff/internal/paths"
)

// mounts are those of the process, in the order in which they were made:
// proc_pid_mountinfo(5).
type mounts []mount

type mount struct {
	device string // of the file system, major:minor
	root   string // what of the file system is mounted
	point  string // where
}

func parseMounts(text string) mounts {
	var list mounts
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 4 {
			list = append(list, mount{device: f[2], root: unescape.Replace(f[3]), point: unescape.Replace(f[4])})
		}
	}
	return list
}

// unescape undoes what the kernel does to blanks in paths.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// otherNames gives the paths at which path, or a part of what is in it, is
// mounted a second time. A later mount may hide what it names.
func (m mounts) otherNames(path string) []string {
	var on mount
	for _, c := range m {
		if paths.Within(path, c.point) && len(c.point) >= len(on.point) {
			on = c
		}
	}
	if on.point == "" {
		return nil
	}
	inside := move(path, on.point, on.root) // its name in the file system
	var names []string
	for _, c := range m {
		if c.device != on.device || c == on {
			continue
		}
		if paths.Within(inside, c.root) {
			if name := move(inside, c.root, c.point); name != path {
				names = append(names, name)
			}
		}
	}
	return names
}

// move gives what path, which is under from, is called under to.
func move(path, from, to string) string {
	return filepath.Join(to, strings.TrimPrefix(path, from))
}
