package clients

import (
	"os"
	"path/filepath"
	"strings"
)

// System is what of the machine decides where files are.
type System struct {
	GOOS string
	Home string // absolute; "": there is none
	// Getenv reads a variable: directories that clients are told to use.
	Getenv func(string) string
	// Project is the absolute path of the project.
	Project string
	// Journal is the directory in which changes are noted, and from which they are
	// undone; "": nothing can be changed.
	Journal string
	// Programs are the directories in which a client's program is looked for.
	Programs []string
}

// expand fills a template in. ok is false if what it needs is not known here.
func (s System) expand(template string) (path string, ok bool) {
	start, end := strings.IndexByte(template, '{'), strings.IndexByte(template, '}')
	if start != 0 || end < 0 {
		return "", false
	}
	base := s.base(template[1:end])
	if !filepath.IsAbs(base) {
		return "", false
	}
	return filepath.Join(base, filepath.FromSlash(template[end+1:])), true
}

// base is the directory that a word in braces stands for.
func (s System) base(word string) string {
	below := func(dirs ...string) string {
		if s.Home == "" {
			return ""
		}
		return filepath.Join(append([]string{s.Home}, dirs...)...)
	}
	or := func(variable, otherwise string) string {
		if v := s.Getenv(variable); v != "" {
			return v
		}
		return otherwise
	}
	switch word {
	case "home":
		return s.Home
	case "config":
		return or("XDG_CONFIG_HOME", below(".config"))
	case "support":
		return below("Library", "Application Support")
	case "appdata":
		return or("APPDATA", below("AppData", "Roaming"))
	case "localappdata":
		return or("LOCALAPPDATA", below("AppData", "Local"))
	}
	if name, ok := strings.CutPrefix(word, "$"); ok {
		return s.Getenv(name)
	}
	return ""
}

func (s System) all(templates []string) []string {
	var paths []string
	for _, t := range templates {
		if p, ok := s.expand(t); ok {
			paths = append(paths, p)
		}
	}
	return paths
}

// Path returns the file of a client in a scope; "" if there is none: the client
// knows no files of projects, or no home directory is known.
func (s System) Path(c Client, scope Scope) string {
	var paths []string
	if scope == Project {
		for _, p := range c.project {
			paths = append(paths, filepath.Join(s.Project, filepath.FromSlash(p)))
		}
	} else {
		paths = s.all(c.user.on(s.GOOS))
	}
	for _, p := range paths {
		if there(p) {
			return p
		}
	}
	for _, p := range paths {
		if there(filepath.Dir(p)) {
			return p
		}
	}
	if len(paths) == 0 {
		return ""
	}
	return paths[0]
}

// Present says by what a client is known to be on this machine; "" if it is not
// there.
func (s System) Present(c Client) string {
	for _, p := range append(s.all(c.user.on(s.GOOS)), s.all(c.marks.on(s.GOOS))...) {
		if there(p) {
			return p
		}
	}
	if len(c.marks.on(s.GOOS)) == 0 {
		for _, p := range s.all(c.user.on(s.GOOS)) {
			if dir := filepath.Dir(p); dir != s.Home && there(dir) {
				return dir
			}
		}
	}
	for _, name := range c.programs {
		for _, dir := range s.Programs {
			for _, file := range []string{name, name + ".exe", name + ".cmd"} {
				path := filepath.Join(dir, file)
				if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && (s.GOOS == "windows" || info.Mode()&0o111 != 0 && file == name) {
					return path
				}
			}
		}
	}
	return ""
}

// Watched lists the places that [System.Present] looks at, for a message.
func (s System) Watched(c Client) []string {
	return append(s.all(c.marks.on(s.GOOS)), s.all(c.user.on(s.GOOS))...)
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
