//go:build unix

package profile

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestHooksAndConfigurationArePinned(t *testing.T) {
	w := newFixture(t)
	w.Repository("home/me/ws")
	w.Repository("home/me/ws/node_modules/dep")
	w.Git("home/me/ws", "init", "-q", "--bare", "deep/er/bare")
	p := w.resolve(Workspace)
	w.equal("repositories", w.names(p.Repositories), "/home/me/ws/.git /home/me/ws/deep/er/bare /home/me/ws/node_modules/dep/.git")
	w.equal("pinned", w.pinned(p), "+/home/me/ws/.git /home/me/ws/.git/config /home/me/ws/.git/hooks "+
		"+/home/me/ws/deep +/home/me/ws/deep/er +/home/me/ws/deep/er/bare /home/me/ws/deep/er/bare/config /home/me/ws/deep/er/bare/hooks "+
		"+/home/me/ws/node_modules +/home/me/ws/node_modules/dep +/home/me/ws/node_modules/dep/.git /home/me/ws/node_modules/dep/.git/config /home/me/ws/node_modules/dep/.git/hooks")
	if again := w.resolve(Workspace); !again.Equal(p) {
		t.Error("looked at again it is another")
	}
	w.Git("home/me/ws", "init", "-q", "new")
	again := w.resolve(Workspace)
	if again.Equal(p) {
		t.Error("a new repository makes no difference")
	}
	w.equal("a repository that a command has made", w.names(again.Repositories[2:3]), "/home/me/ws/new/.git")
}

func TestWhatGitWouldLetACommandMakeIsMadeBefore(t *testing.T) {
	w := newFixture(t)
	w.Repository("home/me/ws")
	w.Must(os.RemoveAll(w.At("home/me/ws/.git/hooks")))
	w.Git("home/me/ws", "config", "extensions.worktreeConfig", "true")
	w.Git("home/me/ws", "config", "core.hooksPath", ".husky/_")
	p := w.resolve(Workspace)
	w.equal("missing", w.entries(p.Missing), "/home/me/ws/.git/config.worktree /home/me/ws/.git/hooks /home/me/ws/.husky/_")
	w.Must(p.Make())
	p = w.resolve(Workspace)
	w.equal("missing, made", w.entries(p.Missing), "")
	w.equal("pinned", w.pinned(p), "+/home/me/ws/.git /home/me/ws/.git/config /home/me/ws/.git/config.worktree /home/me/ws/.git/hooks +/home/me/ws/.husky /home/me/ws/.husky/_")
	w.equal("git still works", w.Git("home/me/ws", "status", "--short"), "")
}

func TestHooksPathAndIncludesAreFollowed(t *testing.T) {
	w := newFixture(t, "home/me/ws/githooks/pre-commit", "home/me/ws/tools/git/config", "home/me/ws/tools/git/more", "home/me/elsewhere/config")
	w.Repository("home/me/ws")
	w.Write("home/me/ws/.git/config", `[core]
	repositoryformatversion = 0
[Include] # a comment
	PATH = "../tools/git/config" ; another
	path = ../../elsewhere/config
	path = ../later
[includeIf "gitdir:~/]"] path = ../tools/\
git/more
`)
	w.Write("home/me/ws/tools/git/config", "[core]\n\thooksPath = githooks\n")
	w.Write("home/me/ws/tools/git/more", "[include]\npath = more\n") // itself
	p := w.resolve(Workspace)
	w.equal("pinned", w.pinned(p), "+/home/me/ws/.git /home/me/ws/.git/config /home/me/ws/.git/hooks /home/me/ws/githooks "+
		"+/home/me/ws/tools +/home/me/ws/tools/git /home/me/ws/tools/git/config /home/me/ws/tools/git/more")
	w.equal("missing: a command could make it", w.entries(p.Missing), "/home/me/ws/later")

	w.Write("home/me/ws/tools/git/config", "[core]\n\thooksPath = .\n")
	w.says(w.resolve(Workspace).Notes, "core.hooksPath", "around the work tree")
}

func TestTheUsersOwnHooksPathIsPinned(t *testing.T) {
	w := newFixture(t, "home/me/githooks/pre-commit")
	w.Write("home/me/.gitconfig", "[core]\nhooksPath = ~/githooks\n")
	w.equal("pinned", w.pinned(w.resolve(Workspace, "home/me")), "/home/me/.gitconfig /home/me/githooks")
}

func TestALinkedWorkTreeMayUseItsRepository(t *testing.T) {
	w := newFixture(t)
	w.Repository("home/me/main")
	w.Git("home/me/main", "worktree", "add", "-q", "../ws/tree")
	w.Git("home/me/main", "worktree", "add", "-q", "../other")
	p := w.resolve(Workspace)
	w.equal("git", w.names(p.Git), "/home/me/main/.git")
	w.equal("writable", w.names(p.Writable()), "/home/me/main/.git /home/me/ws")
	w.equal("repositories", w.names(p.Repositories), "/home/me/ws/tree/.git")
	w.equal("pinned", w.pinned(p), "/home/me/main/.git/config /home/me/main/.git/hooks +/home/me/main/.git/worktrees "+
		"+/home/me/main/.git/worktrees/other /home/me/main/.git/worktrees/other/commondir /home/me/main/.git/worktrees/other/gitdir "+
		"+/home/me/main/.git/worktrees/tree /home/me/main/.git/worktrees/tree/commondir /home/me/main/.git/worktrees/tree/gitdir "+
		"+/home/me/ws/tree /home/me/ws/tree/.git")
	w.equal("planted", w.entries(p.Planted), "")

	inside := w.resolve(Workspace, "home/me")
	w.equal("when the repository lies in the workspace", w.names(inside.Writable()), "/home/me")
	w.equal("repositories", w.names(inside.Repositories), "/home/me/main/.git /home/me/other/.git /home/me/ws/tree/.git")
}

func TestASubmoduleMayUseItsRepository(t *testing.T) {
	w := newFixture(t)
	w.Repository("home/me/lib")
	w.Repository("home/me/ws")
	w.Git("home/me/ws", "submodule", "--quiet", "add", "../lib", "libs/a")
	p := w.resolve(Workspace)
	w.equal("repositories", w.names(p.Repositories), "/home/me/ws/.git /home/me/ws/libs/a/.git")
	w.equal("pinned", w.pinned(p), "+/home/me/ws/.git /home/me/ws/.git/config /home/me/ws/.git/hooks "+
		"+/home/me/ws/.git/modules +/home/me/ws/.git/modules/libs +/home/me/ws/.git/modules/libs/a /home/me/ws/.git/modules/libs/a/config /home/me/ws/.git/modules/libs/a/hooks "+
		"+/home/me/ws/libs +/home/me/ws/libs/a /home/me/ws/libs/a/.git")

	p = w.resolve(Workspace, "home/me/ws/libs/a")
	w.equal("git, when the submodule is the workspace", w.names(p.Git), "/home/me/ws/.git/modules/libs/a")
	w.equal("pinned", w.pinned(p), "/home/me/ws/.git/modules/libs/a/config /home/me/ws/.git/modules/libs/a/hooks /home/me/ws/libs/a/.git")
}

// TestAFileGitCannotOpenARepositoryOfOthers: whoever can write the workspace
// can write such a file.
func TestAFileGitCannotOpenARepositoryOfOthers(t *testing.T) {
	for _, c := range []struct {
		says   string
		attack func(w *fixture)
		note   string
	}{
		{"a repository that knows nothing of it", func(w *fixture) {
			w.Write("home/me/ws/x/.git", "gitdir: ../../main/.git\n")
		}, "no core.worktree"},
		{"the directory of another work tree", func(w *fixture) {
			w.Write("home/me/ws/x/.git", "gitdir: "+w.At("home/me/main/.git/worktrees/tree"))
		}, "its work tree is another"},
		{"a directory of its own that says it belongs to a repository", func(w *fixture) {
			w.Write("home/me/ws/x/.git", "gitdir: own\n")
			w.Write("home/me/ws/x/own/HEAD", "ref: refs/heads/main\n")
			w.Write("home/me/ws/x/own/commondir", w.At("home/me/main/.git")+"\n")
			w.Write("home/me/ws/x/own/gitdir", w.At("home/me/ws/x/.git")+"\n")
		}, "not where it says"},
		{"the same, named as it should be", func(w *fixture) {
			w.Write("home/me/ws/x/.git", "gitdir: worktrees/own\n")
			w.Write("home/me/ws/x/worktrees/own/HEAD", "ref: refs/heads/main\n")
			w.Write("home/me/ws/x/worktrees/own/commondir", w.At("home/me/main/.git")+"\n")
			w.Write("home/me/ws/x/worktrees/own/gitdir", w.At("home/me/ws/x/.git")+"\n")
		}, "not where it says"},
		{"a directory that is no repository", func(w *fixture) {
			w.Write("home/me/ws/x/.git", "gitdir: "+w.At("home/me/data")+"\n")
		}, "no repository"},
		{"the system", func(w *fixture) {
			w.Write("home/me/ws/x/.git", "gitdir: /\n")
		}, "no repository"},
		{"a repository in a hidden directory", func(w *fixture) {
			w.Git("home/me/main", "clone", "-q", "--separate-git-dir", "../.ssh/git", ".", "../ws/x")
			w.Git("home/me/ws/x", "config", "core.worktree", w.At("home/me/ws/x"))
		}, "which is hidden"},
		{"a repository around the workspace", func(w *fixture) {
			w.Git("home/me", "clone", "-q", "--bare", "main", "bare")
			w.Git("home/me/bare", "worktree", "add", "-q", "ws", "HEAD")
			w.Must(os.Rename(w.At("home/me/ws"), w.At("home/me/old")))
			w.Link("bare/ws", "home/me/ws")
		}, "around the workspace"},
		{"through a link in the workspace", func(w *fixture) {
			w.Link("../../main/.git", "home/me/ws/x/.git")
		}, "outside of the workspace"},
		{"a file that holds no path", func(w *fixture) { w.Write("home/me/ws/x/.git", "gitdir: \n") }, ""},
		{"a file without end", func(w *fixture) { w.Write("home/me/ws/x/.git", "gitdir: "+strings.Repeat("../", 1<<20)) }, ""},
		{"a pipe", func(w *fixture) {
			w.Make("home/me/ws/x/")
			w.Must(syscall.Mkfifo(w.At("home/me/ws/x/.git"), 0o600))
		}, ""},
		{"links in a circle", func(w *fixture) {
			w.Link(".git", "home/me/ws/x/.git")
			w.Link("..", "home/me/ws/x/up")
		}, ""},
	} {
		t.Run(c.says, func(t *testing.T) {
			w := newFixture(t, "home/me/data/file", "home/me/.ssh/")
			w.Repository("home/me/main")
			w.Git("home/me/main", "worktree", "add", "-q", "../tree")
			c.attack(w)
			p := w.resolve(Workspace)
			w.equal("git", w.names(p.Git), "")
			if c.note != "" {
				w.says(p.Notes, c.note)
			}
		})
	}
}

func TestARepositoryOfAnotherUserIsNotOpened(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to somebody else")
	}
	w := newFixture(t)
	w.Repository("home/me/main")
	w.Git("home/me/main", "worktree", "add", "-q", "../ws/tree")
	w.Must(os.Chown(w.At("home/me/ws/tree/.git"), 12345, 12345))
	p := w.resolve(Workspace)
	w.equal("git", w.names(p.Git), "")
	w.says(p.Notes, "another user")
}

// TestAPlantedCommondirIsReported, and what it would do: git runs hooks of a
// repository that it leads to, although the real ones are pinned.
func TestAPlantedCommondirIsReported(t *testing.T) {
	w := newFixture(t)
	w.Repository("home/me/ws")
	w.Git("home/me/ws", "worktree", "add", "-q", "tree")
	w.equal("planted", w.entries(w.resolve(Workspace).Planted), "")

	w.Git("home/me/ws", "clone", "-q", "--bare", ".", "evil")
	w.Write("home/me/ws/evil/hooks/pre-commit", "#!/bin/sh\n: > "+w.At("ran")+"\n")
	w.Must(os.Chmod(w.At("home/me/ws/evil/hooks/pre-commit"), 0o755))
	w.Write("home/me/ws/.git/commondir", "../evil\n")
	w.Git("home/me/ws", "commit", "-q", "--allow-empty", "-m", "second")
	if !exists(w.At("ran")) {
		t.Error("git runs no hooks from there; is the danger gone?")
	}
	w.Write("home/me/ws/.git/worktrees/tree/commondir", "../../../evil\n")
	p := w.resolve(Workspace)
	w.equal("planted", w.entries(p.Planted), "/home/me/ws/.git/commondir /home/me/ws/.git/worktrees/tree/commondir")
}

func TestLinksInARepositoryAreFollowed(t *testing.T) {
	w := newFixture(t, "home/me/ws/shared/hooks/pre-commit", "usr/share/hooks/")
	w.Repository("home/me/ws")
	w.Must(os.RemoveAll(w.At("home/me/ws/.git/hooks")))
	w.Link("../shared/hooks", "home/me/ws/.git/hooks")
	p := w.resolve(Workspace)
	w.equal("pinned", w.pinned(p), "+/home/me/ws/.git /home/me/ws/.git/config /home/me/ws/.git/hooks +/home/me/ws/shared /home/me/ws/shared/hooks")
	if i := slices.IndexFunc(p.Pinned, func(pin Pin) bool { return strings.HasSuffix(pin.Path, ".git/hooks") }); !p.Pinned[i].Link {
		t.Error("the link is not pinned itself")
	}

	w.Must(os.Remove(w.At("home/me/ws/.git/hooks")))
	w.Link(w.At("usr/share/hooks"), "home/me/ws/.git/hooks")
	w.equal("when the target is out of reach anyway", w.pinned(w.resolve(Workspace)), "+/home/me/ws/.git /home/me/ws/.git/config /home/me/ws/.git/hooks")
}

// TestAConfigurationThatIncludesItselfIsReadOnce: twelve times on each of ten levels
// were more reads than anybody waits for.
func TestAConfigurationThatIncludesItselfIsReadOnce(t *testing.T) {
	w := newFixture(t)
	w.Repository("home/me/ws")
	var text strings.Builder
	text.WriteString("[core]\n\tbare = false\n")
	for i := range 12 {
		fmt.Fprintf(&text, "[include]\n\tpath = inc%d\n", i)
		w.Write(fmt.Sprintf("home/me/ws/.git/inc%d", i), strings.Repeat("[include]\npath = ../.git/config\n", 12)+"[include]\npath = inc"+fmt.Sprint((i+1)%12)+"\n")
	}
	w.Write("home/me/ws/.git/config", text.String())
	if p := w.resolve(Workspace); p.Exhausted() || !strings.Contains(w.pinned(p), ".git/inc11") {
		t.Errorf("%v, pinned %s", p.Notes, w.pinned(p))
	}
}

func TestTheSearchHasABound(t *testing.T) {
	w := newFixture(t)
	w.Repository("home/me/ws/a/b/c")
	for i := range 300 {
		w.Make(fmt.Sprintf("home/me/ws/full/%d/", i))
	}
	w.Entries = 200
	p := w.resolve(Workspace)
	w.equal("repositories", w.names(p.Repositories), "")
	w.says(p.Notes, "too large")

	w.Entries = 0
	p = w.resolve(Workspace)
	w.equal("repositories", w.names(p.Repositories), "/home/me/ws/a/b/c/.git")
	w.KnownRepositories, w.Entries = p.Repositories, 200
	w.equal("what was known", w.names(w.resolve(Workspace).Repositories), "/home/me/ws/a/b/c/.git")

	w.KnownRepositories = []string{w.At("home/me/ws/a/.git"), w.At("etc/passwd"), w.At("home/me/none/.git"), "relative"}
	w.equal("what is known of and is none", w.names(w.resolve(Workspace).Repositories), "")
}

func TestNearRepositoriesAreFoundFirst(t *testing.T) {
	w := newFixture(t)
	w.Repository("home/me/ws/src/lib")
	for i := range 30 {
		for j := range 30 {
			w.Make(fmt.Sprintf("home/me/ws/node_modules/%d/%d/", i, j))
		}
	}
	w.Entries = 200
	w.equal("repositories", w.names(w.resolve(Workspace).Repositories), "/home/me/ws/src/lib/.git")
}

func TestGitConfigurationIsReadAsGitReadsIt(t *testing.T) {
	for _, c := range []struct{ says, text, want string }{
		{"a value", "[core]\nhooksPath = a/b", "a/b"},
		{"in whatever case", "[CORE]\n\tHOOKSPATH=a", "a"},
		{"on the line of the section", "[core] hooksPath = a", "a"},
		{"the last counts", "[core]\nhooksPath = a\nhooksPath = b\n", "b"},
		{"quoted", "[core]\nhooksPath = \"a # b\" # c", "a # b"},
		{"escaped", `[core]` + "\n" + `hooksPath = "a\\b\"c"`, `a\b"c`},
		{"continued", "[core]\nhooksPath = a\\\nb\n", "ab"},
		{"with the line ends of Windows", "[core]\r\nhooksPath = a\r\n", "a"},
		{"of another section", "[core \"x\"]\n[other]\nhooksPath = a", ""},
		{"a comment", "[core]\n# hooksPath = a\n;hooksPath = b", ""},
		{"nothing", "", ""},
		{"no end of the section", "[core\nhooksPath = a", ""},
		{"a bracket in quotes", "[x \"]\"]\ny = 1\n[core]\nhooksPath = a", "a"},
	} {
		if got, _ := parseGitConfig(c.text); got.hooksPath != c.want {
			t.Errorf("%s: %q is read as %q, not %q", c.says, c.text, got.hooksPath, c.want)
		}
	}
}

func TestAConfigurationThatIsNotUnderstoodLeadsWhereItSaysBeforeAndIsNoted(t *testing.T) {
	w := newFixture(t)
	w.Repository("home/me/ws")
	w.Write("home/me/ws/.git/config", "[core]\n\thooksPath = my hooks\n[core\n\thooksPath = other\n")
	w.Write("home/me/ws/my hooks/pre-commit", "")
	p := w.resolve(Workspace)
	if pinned := w.pinned(p); !strings.Contains(pinned, "/home/me/ws/my hooks") {
		t.Errorf("pinned: %s", pinned)
	}
	if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, ".git/config is not understood") || !strings.Contains(notes, "line 3") {
		t.Errorf("notes: %s", notes)
	}
}

// TestARepositoryStaysPinnedWhateverIsTakenFromIt: a command could take HEAD away,
// make hooks and put it back.
func TestARepositoryStaysPinnedWhateverIsTakenFromIt(t *testing.T) {
	w := newFixture(t)
	w.Repository("home/me/ws")
	w.Git("home/me/ws", "init", "-q", "--bare", "bare")
	before := w.resolve(Workspace)
	for _, name := range []string{".git/HEAD", ".git/objects", ".git/refs", "bare/HEAD", "bare/objects", "bare/refs"} {
		w.Must(os.RemoveAll(w.At("home/me/ws/" + name)))
	}
	w.KnownRepositories, w.KnownGitDirs = before.Repositories, before.GitDirs
	p := w.resolve(Workspace)
	w.equal("pinned", w.pinned(p), w.pinned(before))
	w.KnownRepositories, w.KnownGitDirs = nil, nil
	w.equal("pinned by those who have not seen it whole", w.pinned(w.resolve(Workspace)), "+/home/me/ws/.git /home/me/ws/.git/config /home/me/ws/.git/hooks")

	w.Must(os.RemoveAll(w.At("home/me/ws/.git/hooks")))
	w.Must(os.RemoveAll(w.At("home/me/ws/bare")))
	w.KnownRepositories, w.KnownGitDirs = before.Repositories, before.GitDirs
	p = w.resolve(Workspace)
	w.equal("of a broken one nothing is made", w.entries(p.Missing), "")
	w.equal("and what is gone is gone", w.pinned(p), "+/home/me/ws/.git /home/me/ws/.git/config")
}

func TestWithoutARepositoryItsOwnPinsAreGone(t *testing.T) {
	w := newFixture(t)
	w.Repository("home/me/ws")
	w.Git("home/me/ws", "worktree", "add", "-q", "tree")
	w.Git("home/me/ws", "init", "-q", "sub")
	w.Write("home/me/ws/sub/.git/config", "[core]\n\thooksPath = ../.git/hooks\n") // another's too
	p := w.resolve(Workspace)
	ws := w.At("home/me/ws")
	main := "+/home/me/ws/.git /home/me/ws/.git/config /home/me/ws/.git/hooks"
	sub := " +/home/me/ws/sub +/home/me/ws/sub/.git /home/me/ws/sub/.git/config /home/me/ws/sub/.git/hooks"
	tree := " +/home/me/ws/tree /home/me/ws/tree/.git"
	admin := " +/home/me/ws/.git/worktrees +/home/me/ws/.git/worktrees/tree /home/me/ws/.git/worktrees/tree/commondir /home/me/ws/.git/worktrees/tree/gitdir"
	w.equal("all", w.pinned(p), main+admin+sub+tree)
	w.equal("without the work tree", w.pinned(p.Without([]string{ws + "/tree/.git"})), main+sub)
	w.equal("without the other one", w.pinned(p.Without([]string{ws + "/sub/.git"})), main+admin+tree)
	w.equal("without any that is there", w.pinned(p.Without([]string{"", ws, ws + "/other"})), main+admin+sub+tree)
	w.equal("in the work tree", w.names(p.OwnersIn(ws+"/tree")), "/home/me/ws/tree/.git")
	w.equal("in the other one", w.names(p.OwnersIn(ws+"/sub")), "/home/me/ws/sub/.git")
	w.equal("what several need is nobody's", w.names(p.OwnersIn(ws+"/.git/hooks")), "")
	if !p.Complete() {
		t.Error("the workspace was not looked through")
	}
	w.Entries = 3
	if w.resolve(Workspace).Complete() {
		t.Error("with a bound it was")
	}
}

// TestTheSystemsConfigurationIsFollowed: /etc/gitconfig names hooks by a relative path,
// which git looks for in each work tree.
func TestTheSystemsConfigurationIsFollowed(t *testing.T) {
	w := newFixture(t, "home/me/ws/repo/.git/HEAD", "home/me/ws/repo/.git/objects/", "home/me/ws/repo/.git/refs/", "home/me/ws/repo/.hooks/pre-commit")
	w.Write("etc/gitconfig", "[core]\n\thooksPath = .hooks\n")
	w.Write("home/me/ws/repo/.git/config", "[core]\n\tbare = false\n")
	p := w.resolve(Workspace)
	for _, pin := range p.Pinned {
		if w.name(pin.Path) == "/home/me/ws/repo/.hooks" && !pin.InPlace {
			return
		}
	}
	t.Errorf("hooks that /etc/gitconfig names are not pinned: %v", p.Pinned)
}
