package profile

import (
	"path/filepath"
)

// maxIncludes is how deep git itself follows include.path.
const maxIncludes = 10

// pinConfig pins a configuration of git with all that it includes, and gives
// what they say together. A missing one is to be made if it would count.
func (r *resolver) pinConfig(path string, counts bool) gitConfig {
	if counts || exists(path) {
		r.pinGit(path, false, "git runs what it names")
	}
	return r.readConfig(path, 0)
}

func (r *resolver) readConfig(path string, depth int) gitConfig {
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
		switch inside := r.writable(real); {
		case inside && rest != "":
			r.note("%s includes %s, which does not exist and which a command could make", path, file)
			continue
		case inside:
			r.pinGit(file, false, "git runs what it names")
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

// globalConfig follows the user's own configuration into the workspace.
func (r *resolver) globalConfig() {
	for _, name := range []string{"~/.gitconfig", "$XDG_CONFIG_HOME/git/config"} {
		for _, path := range r.names(name, r.homes[0]) {
			if c := r.readConfig(path, 0); c.hooksPath != "" {
				r.pinHooksPath(path, c.hooksPath, r.workTops())
			}
		}
	}
}

// workTops gives the tops of workspaces and of the work trees in them.
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
