package policy

import (
	"path"
	"slices"
	"strings"

	"tipstaff"
	"tipstaff/internal/gitpush"
	"tipstaff/internal/programs"
	"tipstaff/internal/rules"
)

// repositories reads the repositories of git that a command is about. What a
// variable of git's own could change is not known: then nothing is.
type repositories struct {
	world  World
	dir    Directory
	argv   []string
	req    *tipstaff.Request
	vars   *Environment
	bounds func() rules.Bounds // of the command
}

// read is [rules.Repositories] for the directory of the command.
func (r *repositories) read(at gitpush.Place) gitpush.Repository {
	w, ok := r.world.(Repositories)
	if !ok || r.vars == nil {
		return gitpush.Repository{}
	}
	run := GitRun{Dir: r.dir, Place: at}
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
	if strings.Contains(word, "/") {
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
	if slices.ContainsFunc(r.vars.hidden, decidesGit) {
		return false // a rule may pass it on
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
	if !b.Keeps("HOME") || b.Passes("XDG_CONFIG_HOME") || b.Passes("HOME") {
		return false
	}
	run.Home = of["HOME"]
	if b.Keeps("XDG_CONFIG_HOME") {
		run.ConfigHome = of["XDG_CONFIG_HOME"]
	}
	return true
}

// decidesGit reports whether a variable may decide which repository and which
// settings git takes.
func decidesGit(name string) bool {
	if !strings.HasPrefix(name, "GIT_") {
		return false
	}
	for _, harmless := range []string{"GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_TRACE", "GIT_SSH", "GIT_CURL_"} {
		if strings.HasPrefix(name, harmless) {
			return false
		}
	}
	return !slices.Contains([]string{"GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "GIT_ADVICE", "GIT_MERGE_AUTOEDIT", "GIT_ASKPASS", "GIT_PROGRESS_DELAY", "GIT_REFLOG_ACTION"}, name)
}

// plainWrappers start what they are given as it is: in the same directory, as
// the same user, with the same variables.
var plainWrappers = []string{"timeout", "nice", "nohup", "setsid", "stdbuf", "time", "ionice", "taskset", "chrt"}

// sameRepository returns the facts for what a program starts: nothing is known
// of repositories if it may run with other variables, elsewhere, or as another
// user.
func sameRepository(l *layer, s *programs.Start) rules.Facts {
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
type unknownRepositories struct{ rules.Facts }
