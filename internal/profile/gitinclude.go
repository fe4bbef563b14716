package profile

import (
	"path/filepath"
)

// maxIncludes is how deep git itself follows include.path.
const maxIncludes = 10

// pinConfig pins a git configuration with everything that it includes, and returns
// all their settings together. A missing one has to be made if it would count.
func (r *resolver) pinConfig(dir, path string, counts bool) gitConfig {
	if counts || exists(path) {
		r.pinGit(path, false, "git runs what it names")
		r.isConfig(dir, path)
	}
	return r.readConfig(path, 0)
}

// isConfig notes that a pin is a configuration of the repository dir.
func (r *resolver) isConfig(dir, path string) {
	if pin, is := r.pins[path]; is {
		pin.GitDir = dir
		r.pins[path] = pin
	}
}

// configKey identifies a configuration: by its file, and by the depth of the
// include.
type configKey struct {
	path  string
	depth int
}

// mostConfigs bounds how many configurations one Resolve reads. A repository has one
// or two.
const mostConfigs = 20_000

// readConfig reads a configuration with its includes. Each file is read once for
// each depth, however often it is included.
func (r *resolver) readConfig(path string, depth int) gitConfig {
	key := configKey{path, depth}
	if c, known := r.git.configs[key]; known {
		return c
	}
	if len(r.git.configs) >= mostConfigs {
		r.partial, r.exhausted = true, true
		r.note("there are more than %d configurations of git; use a smaller workspace", mostConfigs)
		return gitConfig{}
	}
	r.git.configs[key] = gitConfig{} // an include of itself adds nothing
	c := r.parseConfig(path, depth)
	r.git.configs[key] = c
	return c
}

func (r *resolver) parseConfig(path string, depth int) gitConfig {
	text, err := readGitFile(path)
	if err != nil {
		if exists(path) {
			r.note("%s cannot be read, so what it leads to is not protected: %v", path, err)
		}
		return gitConfig{}
	}
	c, err := parseGitConfig(text)
	if err != nil {
		r.note("%s is not understood, so what it leads to from there on is not protected: %v", path, err)
	}
	if depth >= maxIncludes {
		return c
	}
	for _, include := range c.includes {
		file := r.gitPath(filepath.Dir(path), include)
		real, rest := existing(file)
		if r.writable(real) {
			// A missing one is made, empty, or a command could make it.
			r.pinGit(filepath.Join(real, rest), false, "git runs what it names")
			r.isConfig(filepath.Dir(path), filepath.Join(real, rest))
			r.pinLinks(file, "git runs what it names")
		}
		if rest != "" {
			continue
		}
		inner := r.readConfig(real, depth+1)
		if inner.hooksPath != "" {
			c.hooksPath = inner.hooksPath
		}
		if inner.workTree != "" {
			c.workTree = inner.workTree
		}
		c.perTree = c.perTree || inner.perTree
	}
	return c
}

// globalConfig follows the system's configuration and the user's own into the
// workspace.
func (r *resolver) globalConfig() {
	for _, name := range []string{"/etc/gitconfig", "/usr/local/etc/gitconfig", "~/.gitconfig", "$XDG_CONFIG_HOME/git/config"} {
		for _, path := range r.names(name, r.homes[0]) {
			if c := r.readConfig(path, 0); c.hooksPath != "" {
				r.pinHooksPath(path, c.hooksPath, r.workTops())
			}
		}
	}
}

// workTops returns the tops of workspaces and of the work trees in them.
func (r *resolver) workTops() []string {
	var tops []string
	tops = append(tops, r.Workspace...)
	for _, path := range r.Repositories {
		if filepath.Base(path) == ".git" {
			tops = append(tops, filepath.Dir(path))
		}
	}
	return sorted(tops)
}
