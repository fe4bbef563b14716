package policy

import (
	"path"
	"slices"
	"strings"

	"tipstaff"
	"tipstaff/internal/command/gitpush"
	"tipstaff/internal/command/programs"
	"tipstaff/internal/policy/language"
)

// repositories reads the repositories of git that a command is about. What a
// variable of git's own could change is not known: then nothing is.
type repositories struct {
	world  World
	dir    Directory
	argv   []string
	found  *found // the program, by a PATH of the caller
	req    *tipstaff.Request
	vars   *Environment
	policy *language.Policy
	bounds func() language.Bounds // of the command
}

// read is [language.Repositories] for the directory of the command.
func (r *repositories) read(at gitpush.Location) gitpush.Repository {
	w, ok := r.world.(Repositories)
	if !ok || r.vars == nil {
		return gitpush.Repository{}
	}
	run := GitRun{Dir: r.dir, Location: at}
	if run.Program, ok = r.program(); !ok || !r.environment(&run) {
		return gitpush.Repository{}
	}
	return w.Repository(run)
}

// program returns the file of git; not ok if the command has several.
func (r *repositories) program() (file string, ok bool) {
	word := ""
	for _, w := range r.argv {
		if path.Base(w) != "git" {
			continue
		}
		if word != "" && word != w {
			return "", false
		}
		word = w
	}
	var p Program
	var err error
	if r.found != nil && word == r.argv[0] {
		p, err = r.found.program, r.found.err
	} else if strings.Contains(word, "/") {
		p, err = r.world.File(word, r.dir)
	} else {
		p, err = r.world.Lookup("git")
	}
	return p.Path, err == nil
}

// environment finds the variables by which git finds its configurations; not ok
// if others decide.
func (r *repositories) environment(run *GitRun) (ok bool) {
	of := map[string]string{}
	for _, kv := range r.vars.base {
		name, value, _ := strings.Cut(kv, "=")
		of[name] = value
		if decidesGit(name) {
			return false
		}
	}
	for _, name := range r.vars.hidden {
		if (decidesGit(name) || name == "HOME" || name == "XDG_CONFIG_HOME") && r.policy.MayPass(name) {
			return false
		}
	}
	for _, kv := range slices.Concat(r.req.Env, r.req.Fixed) {
		name, value, _ := strings.Cut(kv, "=")
		if decidesGit(name) || (name == "HOME" || name == "XDG_CONFIG_HOME") && value != of[name] {
			return false
		}
	}
	for _, name := range r.req.Unset {
		if name == "HOME" || name == "XDG_CONFIG_HOME" {
			return false
		}
	}
	b := r.bounds()
	if !b.Keeps("HOME") {
		return false
	}
	run.Home = of["HOME"]
	if b.Keeps("XDG_CONFIG_HOME") {
		run.ConfigHome = of["XDG_CONFIG_HOME"]
	}
	return true
}

// gitVariables are how the names of variables begin by which git finds its
// repository, its refs and its settings.
var gitVariables = []string{
	"GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_NAMESPACE", "GIT_CONFIG", "GIT_CEILING", "GIT_DISCOVERY", "GIT_EXEC_PATH", "GIT_OBJECT", "GIT_ALTERNATE",
	"GIT_REF_", "GIT_REFERENCE", "GIT_DEFAULT", "GIT_INTERNAL", "GIT_IMPLICIT", "GIT_TEST", "GIT_PREFIX", "GIT_SHALLOW", "GIT_GRAFT", "GIT_REPLACE", "GIT_QUARANTINE",
}

// decidesGit reports whether a variable may decide which repository and which
// settings git takes.
func decidesGit(name string) bool {
	return slices.ContainsFunc(gitVariables, func(d string) bool { return strings.HasPrefix(name, d) })
}

// plainWrappers start what they are given as it is: in the same directory, as
// the same user, with the same variables.
var plainWrappers = []string{"timeout", "nice", "nohup", "setsid", "stdbuf", "time", "ionice", "taskset", "chrt"}

// sameRepository returns the facts for a command that another program starts.
// If that program may change variables, directory or user, the command could
// read another repository, so nothing is known of it.
func sameRepository(l *layer, s *programs.Start) language.Facts {
	name := path.Base(l.words[0])
	switch {
	case s.By == byAlias:
		return l.facts
	case s.Moved, s.InOne:
	case slices.Contains(plainWrappers, name):
		return l.facts
	case name == "env" && len(s.Words) < len(l.words):
		set := l.words[1 : len(l.words)-len(s.Words)]
		if !slices.ContainsFunc(set, func(w string) bool {
			name, _, assigns := strings.Cut(w, "=")
			return !assigns || strings.HasPrefix(w, "-") || decidesGit(name) || name == "HOME" || name == "XDG_CONFIG_HOME"
		}) {
			return l.facts
		}
	}
	return unknownRepositories{l.facts}
}

// unknownRepositories answers for a command of whose repository nothing is
// known.
type unknownRepositories struct{ language.Facts }
