//go:build unix

package profile

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hostile is far longer than any of these searches takes, and far shorter than one
// without a bound.
const hostile = 10 * time.Second

// many are n includes.
func many(format string, n int) string {
	var b strings.Builder
	b.WriteString("[include]\n")
	for i := range n {
		b.WriteString("\tpath = " + strings.ReplaceAll(format, "%", fmt.Sprint(i)) + "\n")
	}
	return b.String()
}

// TestAHostileConfigurationHasABound: whatever a configuration includes, the search is
// over soon, and says what it has not followed.
func TestAHostileConfigurationHasABound(t *testing.T) {
	names := func(w *fixture, n int, at string) {
		for i := range n {
			path := w.At(fmt.Sprintf(at, i))
			w.Must(os.MkdirAll(filepath.Dir(path), 0o755))
			w.Must(os.Link(w.At("home/me/ws/.git/config"), path))
		}
	}
	for _, c := range []struct {
		says     string
		config   string
		more     func(w *fixture)
		followed bool
	}{
		{"itself, sixty thousand times", many("config", 60_000), nil, true},
		{"a few files", many("m%", 200), nil, true},
		{"more files than are followed", many("m%", maxIncludes+1), nil, false},
		{"files that are not there, sixty thousand", many("m%", 60_000), nil, false},
		{"itself by hard links, each to all of them", many("c%", 1000), func(w *fixture) { names(w, 200, "home/me/ws/.git/c%d") }, false},
		{"itself by a few hard links", many("c%", 100), func(w *fixture) { names(w, 100, "home/me/ws/.git/c%d") }, true},
		{"itself by hard links in other directories", many("../%/c", 100) + many("%/c", 60_000), func(w *fixture) { names(w, 100, "home/me/ws/.git/%d/c") }, false},
	} {
		t.Run(c.says, func(t *testing.T) {
			w := newFixture(t)
			w.Repository("home/me/ws")
			w.Write("home/me/ws/.git/config", c.config)
			if c.more != nil {
				c.more(w)
			}
			begin := time.Now()
			p := w.resolve(Workspace)
			if took := time.Since(begin); took > hostile {
				t.Errorf("it took %s", took)
			}
			if followed := len(p.Unfollowed()) == 0; followed != c.followed || p.Exhausted() {
				t.Errorf("not followed: %v; exhausted: %v, %v", p.Unfollowed(), p.Exhausted(), p.Notes)
			}
			for _, u := range p.Unfollowed() {
				if w.name(u.Repository) != "/home/me/ws/.git" || !strings.Contains(u.Why, "256") {
					t.Errorf("%+v", u)
				}
			}
			if !strings.Contains(w.pinned(p), "/home/me/ws/.git/hooks") {
				t.Errorf("pinned: %.300s", w.pinned(p))
			}
		})
	}
}

// TestALongPathHoldsUpNoSearch: whichever of git's files holds it.
func TestALongPathHoldsUpNoSearch(t *testing.T) {
	long := strings.Repeat("a/", 340_000)
	for says, files := range map[string]map[string]string{
		"an include":               {"config": "[include]\n\tpath = " + long},
		"core.hooksPath":           {"config": "[core]\n\thooksPath = " + long},
		"core.worktree":            {"config": "[core]\n\tworktree = " + long + "\n\thooksPath = hooks"},
		"gitdir of a work tree":    {"worktrees/tree/commondir": "../..", "worktrees/tree/gitdir": "/" + long + ".git"},
		"commondir of a work tree": {"worktrees/tree/commondir": long, "worktrees/tree/gitdir": "/x/.git"},
		"gitdir":                   {"../x/.git": "gitdir: " + long},
	} {
		t.Run(says, func(t *testing.T) {
			w := newFixture(t)
			w.Repository("home/me/ws")
			for name, text := range files {
				w.Write("home/me/ws/.git/"+name, text)
			}
			begin := time.Now()
			p := w.resolve(Workspace)
			if took := time.Since(begin); took > hostile {
				t.Errorf("it took %s", took)
			}
			if !strings.Contains(w.pinned(p), "/home/me/ws/.git/hooks") || p.Exhausted() {
				t.Errorf("%.300v, pinned: %.300s", p.Notes, w.pinned(p))
			}
			for _, m := range p.Missing {
				if len(m.Path) >= maxPath {
					t.Errorf("to be made is %.100s…", m.Path)
				}
			}
		})
	}
}

// TestDirectoriesInOneAnotherHaveABound: a look at a path takes as long as all looks at
// the directories above it. Where git goes on, no command may run.
func TestDirectoriesInOneAnotherHaveABound(t *testing.T) {
	deep := strings.Repeat("b/", 1500)
	for says, make := range map[string]func(w *fixture) (unfollowed bool){
		"repositories": func(w *fixture) bool {
			w.Repository("home/me/ws/" + deep + "x")
			return false
		},
		"includes": func(w *fixture) bool {
			w.Make("home/me/else/" + deep)
			w.Write("home/me/ws/.git/config", "[include]\n"+many("../../else/"+deep+"%", 200))
			return true
		},
		"includes through links": func(w *fixture) bool {
			w.Make("home/me/else/" + deep)
			for i := range 30 {
				w.Link(fmt.Sprintf("%slink%d", deep, i+1), fmt.Sprintf("home/me/else/link%d", i))
				w.Link(w.At(fmt.Sprintf("home/me/else/link%d", i+1)), fmt.Sprintf("home/me/else/%slink%d", deep, i+1))
			}
			w.Write("home/me/ws/.git/config", "[include]\n"+many("../../else/link%", 30))
			return true
		},
		"hooks": func(w *fixture) bool {
			w.Make("home/me/else/" + deep)
			w.Must(os.RemoveAll(w.At("home/me/ws/.git/hooks")))
			w.Link("../../else/"+deep, "home/me/ws/.git/hooks")
			return true
		},
	} {
		t.Run(says, func(t *testing.T) {
			w := newFixture(t)
			w.Repository("home/me/ws")
			unfollowed := make(w)
			begin := time.Now()
			p := w.resolve(Workspace)
			if took := time.Since(begin); took > hostile {
				t.Errorf("it took %s", took)
			}
			if len(p.Unfollowed()) > 0 != unfollowed || p.Exhausted() == unfollowed {
				t.Errorf("not followed: %.300v; exhausted: %v, %.300v", p.Unfollowed(), p.Exhausted(), p.Notes)
			}
			if p = w.resolve(Workspace, "home/me/else/"+deep); len(p.Workspace) > 0 {
				t.Errorf("a workspace: %.100v", p.Workspace)
			}
		})
	}
}

func TestWhatExistsOfAPathIsFound(t *testing.T) {
	w := newFixture(t, "a/b/c/d/e/file")
	w.Link(w.At("a/b"), "link")
	w.Link("nowhere/else", "broken")
	for path, want := range map[string]string{
		"a/b/c/d/e/file":         "/a/b/c/d/e/file|",
		"a/b/c/d/e/file/x":       "/a/b/c/d/e/file|x",
		"a/b/c/d/e/x":            "/a/b/c/d/e|x",
		"a/b/c/d/x/y":            "/a/b/c/d|x/y",
		"a/b/c/1/2/3/4/5/6/7":    "/a/b/c|1/2/3/4/5/6/7",
		"link/c/x/y/z":           "/a/b/c|x/y/z",
		"broken/x":               "|broken/x",
		"x/1/2/3/4/5/6/7/8/9/10": "|x/1/2/3/4/5/6/7/8/9/10",
	} {
		if dir, rest := existing(w.At(path)); w.name(dir)+"|"+rest != want {
			t.Errorf("%s: %s|%s, want %s", path, w.name(dir), rest, want)
		}
	}
	for path, want := range map[string]string{"/": "/|", "/no such/thing": "/|no such/thing", ".no such": ".|.no such", "no such/x": ".|no such/x"} {
		if dir, rest := existing(path); dir+"|"+rest != want {
			t.Errorf("%s: %s|%s, want %s", path, dir, rest, want)
		}
	}
}

// TestTheBudgetOfASearchBoundsWhatArchivesBring: repositories, work trees and files of
// git have bounds of their own, and so has the time.
func TestTheBudgetOfASearchBoundsWhatArchivesBring(t *testing.T) {
	w := newFixture(t)
	for i := range 20 {
		w.Repository(fmt.Sprintf("home/me/ws/r%d", i))
	}
	if p := w.resolve(Workspace); p.Exhausted() || len(p.Repositories) != 20 {
		t.Errorf("without a small bound: %d repositories, %v", len(p.Repositories), p.Notes)
	}
	w.Repositories = 20
	if p := w.resolve(Workspace); p.Exhausted() {
		t.Errorf("as many as the bound: %v", p.Notes)
	}
	w.Repositories = 19
	if p := w.resolve(Workspace); !p.Exhausted() || p.Complete() {
		t.Error("a bound on repositories was passed, and nothing says so")
	}
	w.Repositories = 0
	ended, end := context.WithCancel(t.Context())
	end()
	p, err := Workspace.Resolve(ended, w.Machine, []string{w.At("home/me/ws")})
	if err != nil || !p.Exhausted() || len(p.Repositories) > 0 {
		t.Errorf("a search whose time is up: %v, %v, %v", err, p.Exhausted(), p.Repositories)
	}
	for i := range maxWorkTrees + 1 {
		w.Write(fmt.Sprintf("home/me/ws/r0/.git/worktrees/w%d/gitdir", i), fmt.Sprintf("/x%d/.git\n", i))
		w.Write(fmt.Sprintf("home/me/ws/r0/.git/worktrees/w%d/commondir", i), "../..\n")
	}
	if p := w.resolve(Workspace); len(p.Unfollowed()) != 1 || !strings.Contains(p.Unfollowed()[0].Why, "1000 work trees") {
		t.Errorf("work trees: %+v", p.Unfollowed())
	}
}

// TestAnIncludeThroughALinkCountsFromWhereTheLinkLies: git takes a relative include
// from the directory of the name by which it has opened a file.
func TestAnIncludeThroughALinkCountsFromWhereTheLinkLies(t *testing.T) {
	w := newFixture(t)
	w.Repository("home/me/ws")
	w.Write("home/me/ws/.git/config", "[core]\n\trepositoryformatversion = 0\n[include]\n\tpath = linked\n")
	w.Write("home/me/ws/shared/real", "[include]\n\tpath = next\n")
	w.Link(w.At("home/me/ws/shared/real"), "home/me/ws/.git/linked")
	w.Write("home/me/ws/.git/next", "[user]\n\tname = beside the link\n")
	w.Write("home/me/ws/shared/next", "[user]\n\tname = beside the file\n")
	git := exec.Command("git", "--git-dir="+w.At("home/me/ws/.git"), "config", "user.name")
	if out, err := git.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "beside the link" {
		t.Fatalf("git reads another file than this test takes for granted: %v: %s", err, out)
	}
	if pinned := w.pinned(w.resolve(Workspace)); !strings.Contains(pinned, "/home/me/ws/.git/next") || strings.Contains(pinned, "/home/me/ws/shared/next") {
		t.Errorf("pinned: %s", pinned)
	}
}

// TestDirectoriesThatWaitAreSmall: each path is as long as the kernel takes, and there
// are many.
func TestDirectoriesThatWaitAreSmall(t *testing.T) {
	const many = 10_000
	w := newFixture(t)
	deep := "home/me/ws" + strings.Repeat("/"+strings.Repeat("d", 200), 15)
	for i := range many {
		w.Make(fmt.Sprintf("%s/%d/", deep, i))
	}
	p := newResolver(Workspace, w.Machine)
	p.git = &search{entries: map[string]bool{}}
	p.searchDir(p.git, w.At(deep))
	bytes := 0
	for _, list := range [][]pendingDirs{p.git.near, p.git.thirdParty} {
		for _, one := range list {
			bytes += len(one.dir)
			for _, name := range one.names {
				bytes += len(name)
			}
		}
	}
	if bytes < many || bytes > 10*many {
		t.Errorf("%d directories wait with %d bytes", many, bytes)
	}
	p.budget.names = perName
	if p.git.near = nil; p.outOfBudget() {
		t.Fatal("it is spent at once")
	}
	if p.searchDir(p.git, w.At(deep)); !p.outOfBudget() {
		t.Error("what waits has no bound")
	}
}

// TestNotesHaveABound, and why a search went no further is among them.
func TestNotesHaveABound(t *testing.T) {
	w := newFixture(t)
	for i := range maxNotes + 100 {
		w.Write(fmt.Sprintf("home/me/ws/%d/.git", i), fmt.Sprintf("gitdir: /no/such/%d\n", i))
	}
	if p := w.resolve(Workspace); len(p.Notes) != maxNotes {
		t.Errorf("%d notes", len(p.Notes))
	}
	w.Entries = 2*maxNotes + 150
	w.says(w.resolve(Workspace).Notes, "too large")
}
