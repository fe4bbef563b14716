//go:build linux && !race

package escape

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tipstaff/e2e/kit"
)

// person works with git outside of any sandbox, in the workspace of a world.
type person struct {
	w   *world
	env []string
}

func (w *world) person(env ...string) person {
	return person{w, append([]string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + w.path("home"), "LANG=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=p", "GIT_AUTHOR_EMAIL=p@q", "GIT_COMMITTER_NAME=p", "GIT_COMMITTER_EMAIL=p@q",
	}, env...)}
}

func (p person) sh(dir, script string) (string, error) {
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.SysProcAttr, cmd.Env = dir, kit.As(p.w.uid), p.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must runs what cannot fail.
func (p person) must(t *testing.T, dir, script string) {
	t.Helper()
	if out, err := p.sh(dir, script); err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
}

// evil tells of having run outside: in the sandbox, the home cannot be written.
func (w *world) evil() string { return "echo x >> " + w.path("home/ran-outside") }

// executions counts how often something has run that was planted, and begins anew.
func (w *world) executions(t *testing.T) int {
	t.Helper()
	ran := w.path("home/ran-outside")
	text, err := os.ReadFile(ran)
	if os.IsNotExist(err) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(ran); err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// works does what makes git run whatever its configuration and hooks name.
func (p person) works(dir string) {
	_, _ = p.sh(dir, "git status --short; git commit -q --allow-empty -m x")
}

// polls has the person's git ask for the state of a repository ten times a second, as
// an editor does, until stop is called.
func (p person) polls(dir string) (stop func()) {
	done := make(chan struct{})
	var polling sync.WaitGroup
	polling.Go(func() {
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
				_, _ = p.sh(dir, "git status --short")
			}
		}
	})
	return func() { close(done); polling.Wait() }
}

// steer is a way by which commands try to make a person's git run a program. Each
// command of tries is run on its own, in the order given. $E is the program, as a
// command of a shell.
type steer struct {
	says    string
	dir     string // in which the repository is; "" is repo
	prepare string // by the person, in the workspace
	cwd     string // of the commands, below {dir}; "" is the workspace
	roots   bool   // the person lets commands run in the workspace only; else anywhere
	tries   []string
	personE []string // more of the person's environment
	// later: nothing can be pinned, because the person's git has no repository there
	// when the server starts; what is promised is that it does not run when the
	// commands have ended.
	later bool
}

const (
	plantHook   = `printf '#!/bin/sh\n%s\n' "$E" > .git/hooks/pre-commit; chmod 755 .git/hooks/pre-commit; `
	plantConfig = `printf '[core]\n\tfsmonitor = "%s; false"\n' "$E" >> .git/config; `
	replaced    = `cp .git/config c; printf '[core]\n\tfsmonitor = "%s; false"\n' "$E" >> c; mv -f c .git/config; `
	plantAll    = plantHook + plantConfig + replaced
)

var steers = []steer{
	{says: "1 a directory that is closed for a while", tries: []string{"chmod 0 repo", "true", "chmod 755 repo; cd repo; " + plantAll}},
	{says: "1 the directory of git", tries: []string{"chmod 0 repo/.git", "true", "chmod 755 repo/.git; cd repo; " + plantAll}},
	{says: "1 the directory above", dir: "above/repo", tries: []string{"chmod 0 above", "true", "chmod 755 above; cd above/repo; " + plantAll}},
	{says: "1 hooks and configuration", tries: []string{"chmod 0 repo/.git/hooks; chmod 0 repo/.git/config", "true", "cd repo; chmod 755 .git/hooks; chmod 644 .git/config; " + plantAll}},
	{
		says: "3 a link to the directory of git", prepare: "mv repo/.git real.git && ln -s ../real.git repo/.git",
		tries: []string{"cd repo; cp -r .git/ g; printf '[core]\\n\\tfsmonitor = \"%s; false\"\\n' \"$E\" >> g/config; rm -f .git; ln -sfn g .git; " + plantAll},
	},
	{
		says: "3 a link to the configuration", prepare: "mv repo/.git/config repo/shared && ln -s ../shared repo/.git/config",
		tries: []string{"cd repo; " + plantConfig + "rm -f .git/config; " + plantConfig + "rm -f shared; " + plantConfig},
	},
	{
		says: "3 a link to the hooks", prepare: "mv repo/.git/hooks repo/h && ln -s ../h repo/.git/hooks",
		tries: []string{"cd repo; " + plantHook + "rm -f .git/hooks; mkdir -p .git/hooks; " + plantHook + "mv h i; mkdir h; " + plantHook},
	},
	{
		says: "4 an include that is not there", prepare: "git -C repo config include.path ../later",
		tries: []string{`cd repo; printf '[core]\n\tfsmonitor = "%s; false"\n' "$E" > later; cp later x; mv -f x later`},
	},
	{
		says: "4 a conditional one, in a directory that is not there", prepare: "git -C repo config includeIf.gitdir:/.path ../no/where/later",
		tries: []string{`cd repo; mkdir -p no/where; printf '[core]\n\tfsmonitor = "%s; false"\n' "$E" > no/where/later`},
	},
	{
		says: "6 a directory of hooks as the working directory", dir: "../out/repo", prepare: "mkdir -p ../out/repo/.husky && git -C ../out/repo config core.hooksPath .husky",
		cwd: "out/repo/.husky", tries: []string{`printf '#!/bin/sh\n%s\n' "$E" > pre-commit; chmod 755 pre-commit`},
	},
	{
		says: "6 git's own", dir: "../out/repo", cwd: "out/repo/.git/hooks",
		tries: []string{`printf '#!/bin/sh\n%s\n' "$E" > pre-commit; chmod 755 pre-commit`},
	},
	{
		says: "7 hooks that the person's own configuration names", prepare: "printf '[core]\\n\\thooksPath = .hooks\\n' > ../home/.gitconfig && mkdir repo/.hooks",
		tries: []string{`cd repo; printf '#!/bin/sh\n%s\n' "$E" > .hooks/pre-commit; chmod 755 .hooks/pre-commit; mv .hooks k; mkdir .hooks; printf '#!/bin/sh\n%s\n' "$E" > .hooks/pre-commit; chmod 755 .hooks/pre-commit`},
	},
	{
		says: "8 a configuration that includes itself", prepare: `for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf '[include]\n\tpath = config\n'; done >> repo/.git/config; printf '[include]\n\tpath = ../later\n' >> repo/.git/config`,
		tries: []string{"cd repo; " + plantAll + `printf '[core]\n\tfsmonitor = "%s; false"\n' "$E" > later`},
	},
	{says: "9 the directory above git's is renamed", dir: "above/repo", tries: []string{"mv above a; cp -r a above; cd above/repo; " + plantAll}},
	{says: "9 links by which a file is written", tries: []string{"cd repo; ln .git/config l; printf '[core]\\n\\tfsmonitor = \"%s; false\"\\n' \"$E\" >> l; ln -s .git/hooks h; " + strings.ReplaceAll(plantHook, ".git/hooks", "h")}},
}

// TestEscapeE11WhatSteersAPersonsGitIsNotWritten: with namespaces, of what a command
// plants nothing runs, while it runs or ever after, however often the person's git
// looks. With Landlock alone, nothing of it is left when the command has ended.
func TestEscapeE11WhatSteersAPersonsGitIsNotWritten(t *testing.T) {
	t.Parallel()
	everywhere(t, habitat{}, func(t *testing.T, w *world) {
		// A world for each would take longer to make than the attempts take.
		for i, row := range steers {
			t.Run(row.says, func(t *testing.T) {
				t.Parallel()
				row.in(t, w.tier, w.uid, i)
			})
		}
	})
}

func (s steer) repo() string {
	if s.dir == "" {
		return "repo"
	}
	return s.dir
}

// in plays an attempt in a world of its own.
func (s steer) in(t *testing.T, tier string, uid, _ int) {
	t.Helper()
	h := habitat{}
	w := prepareWorld(t, tier, uid, h)
	p := w.person(s.personE...)
	p.must(t, w.path("ws"), fmt.Sprintf("git init -q %s && git -C %[1]s commit -q --allow-empty -m first", s.repo()))
	if s.prepare != "" {
		p.must(t, w.path("ws"), s.prepare)
	}
	w.Connect()
	if got := w.tierOnRecord(t); got != tier { // the first look as well
		t.Fatalf("commands run in the tier %q", got)
	}
	repo := w.path("ws", s.repo())
	stop := p.polls(repo)
	var answers []string
	for _, try := range s.tries {
		// After a look a later command may find other walls.
		w.looks(t)
		r := w.On(t).Process("sh", []string{"-c", "E='" + w.evil() + "'; " + try}, kit.Args{"cwd": w.path(orWorkspace(s.cwd))})
		answers = append(answers, r.Text)
	}
	stop()
	during := w.executions(t)
	p.works(repo)
	after := w.executions(t)
	w.looks(t)
	p.works(repo)
	later := w.executions(t)
	switch {
	case tier == kit.None && during+after == 0:
		t.Errorf("it does not work without a sandbox either: %q", answers)
	case tier == kit.Namespaces && during > 0, tier != kit.None && after+later > 0:
		t.Errorf("it ran outside, %d times meanwhile, %d after the commands, %d after the next look:\n%s", during, after, later, strings.Join(answers, "\n"))
	case during > 0 && tier == kit.Landlock:
		t.Logf("a git that looked ten times a second has run it %d times", during)
	}
}

func orWorkspace(dir string) string {
	if dir == "" {
		return "ws"
	}
	return dir
}

// looks has the server look through the workspace. A session of its own does not share
// what others have found; where the workspace cannot be looked through, it is refused.
func (w *world) looks(t *testing.T) {
	t.Helper()
	s := w.On(t)
	b := s.Call("terminal_create_session", kit.Args{"taskId": "T", "agentId": "a"}).JSON()
	if b.Success {
		s.InSession(b.SessionID, "cat", []string{filepath.Join("/dev/null")})
		s.Call("terminal_close_session", kit.Args{"sessionId": b.SessionID})
	}
}
