package facts

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tipstaff/internal/command/gitpush"
	"tipstaff/internal/policy"
	"tipstaff/internal/testing/testworld"
)

var updatePushes = flag.Bool("update-pushes", false, "write what is read into testdata/pushes.txt; review it")

// remotes is a repository with two remotes, to which git really pushes.
type remotes struct {
	*testworld.Tree

	home string
	dir  string // of the work tree
}

// newRemotes makes the repositories once; each case works on a copy of the
// configuration.
func newRemotes(t *testing.T) *remotes {
	t.Helper()
	if _, err := os.Stat("/usr/bin/git"); err != nil {
		t.Skip("this machine has no /usr/bin/git")
	}
	tree := testworld.New(t).Make("home/", "work/")
	w := &remotes{Tree: tree, home: tree.At("home"), dir: tree.At("work")}
	w.git("init", "-q", "-b", "main", ".")
	w.git("commit", "-q", "--allow-empty", "-m", "one")
	for _, remote := range []string{"origin", "fork"} {
		w.git("clone", "-q", "--bare", ".", "../"+remote+".git")
		w.git("remote", "add", remote, "../"+remote+".git")
	}
	// The remotes have what is not here: main has gone on, refs of other kinds.
	w.git("commit", "-q", "--allow-empty", "-m", "theirs")
	w.git("push", "-q", "origin", "main", "main:refs/heads/gone", "main:refs/heads/feature/x", "main:refs/for/review", "main:refs/tags/onlytag", "main:refs/notes/n", "main:refs/heads/both", "main:refs/odd/thing")
	w.git("fetch", "-q", "--all")
	w.git("reset", "-q", "--hard", "HEAD~1")
	for _, b := range []string{"feature/x", "topic", "both", "x", "-q"} {
		if b != "-q" {
			w.git("branch", b)
		}
	}
	w.git("tag", "v1")
	w.git("tag", "-m", "two", "v2")
	w.git("tag", "both")
	w.git("tag", "feature/tag")
	w.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
	w.git("symbolic-ref", "refs/heads/feature/alias", "refs/heads/main")
	w.git("symbolic-ref", "FOO", "refs/heads/main")
	w.git("pack-refs", "--all")
	w.git("branch", "late")
	w.git("worktree", "add", "-q", "../tree", "topic")
	w.git("worktree", "add", "-q", "--detach", "../detached")
	w.write("../sub/dir/file", "")
	return w
}

func (w *remotes) git(args ...string) {
	w.Helper()
	w.Git("work", args...)
}

func (w *remotes) write(name, text string) {
	w.Helper()
	w.Write(filepath.Join("work", name), text)
}

// situations are configurations under which forms are pushed: settings, and
// settings of the user's own behind "user ", and HEAD behind "on ".
var situations = map[string][]string{
	"plain":     nil,
	"feature":   {"on feature/x", "branch.feature/x.remote=origin", "branch.feature/x.merge=refs/heads/feature/x"},
	"upstream":  {"on topic2", "push.default=upstream", "branch.topic2.remote=origin", "branch.topic2.merge=refs/heads/main"},
	"tracking":  {"on topic2", "user push.default=tracking", "branch.topic2.remote=origin", "branch.topic2.merge=main"},
	"current":   {"on feature/x", "push.default=current"},
	"matching":  {"push.default=matching"},
	"nothing":   {"push.default=nothing"},
	"simple":    {"on topic2", "push.default=simple", "branch.topic2.remote=origin", "branch.topic2.merge=refs/heads/main"},
	"auto":      {"on topic2", "push.autoSetupRemote=true"},
	"pushes":    {"on feature/x", "remote.origin.push=refs/heads/feature/*:refs/heads/main", "remote.origin.push=+refs/heads/x:refs/heads/y"},
	"force":     {"on feature/x", "remote.origin.push=+refs/heads/*:refs/heads/*"},
	"head":      {"on feature/x", "remote.origin.push=HEAD", "remote.origin.push=v1:v9"},
	"mirror":    {"remote.origin.mirror=true"},
	"default":   {"on feature/x", "remote.pushDefault=fork"},
	"triangle":  {"on feature/x", "branch.feature/x.remote=origin", "branch.feature/x.merge=refs/heads/main", "branch.feature/x.pushRemote=fork"},
	"follow":    {"push.followTags=true"},
	"recurse":   {"push.recurseSubmodules=on-demand"},
	"include":   {"on topic2", "include.path=../more"},
	"maybe":     {"on topic2", "includeIf.onbranch:topic2.path=../more"},
	"detached":  {"on --detach"},
	"symbolic":  {"on feature/x", "push.default=upstream", "branch.main.merge=refs/heads/odd", "branch.main.remote=origin"},
	"group":     {"remotes.origin=origin fork"},
	"user":      {"on topic2", "user push.default=upstream", "user include.path=~/other", "branch.topic2.remote=origin", "branch.topic2.merge=refs/heads/main"},
	"worktrees": {"extensions.worktreeConfig=true", "tree push.default=matching"},
}

// set makes a situation, from a clean configuration.
func (w *remotes) set(name string) {
	w.Helper()
	w.write(".git/config", "[core]\n\trepositoryformatversion = 0\n[remote \"origin\"]\n\turl = ../origin.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[remote \"fork\"]\n\turl = ../fork.git\n")
	w.write("more", "[push]\n\tdefault = upstream\n[branch \"topic2\"]\n\tremote = origin\n\tmerge = refs/heads/main\n")
	w.write("../home/.gitconfig", "")
	w.write("../home/other", "[push]\n\tfollowTags = true\n")
	w.write(".git/config.worktree", "")
	w.git("checkout", "-q", "main")
	for _, s := range situations[name] {
		rest, ok := strings.CutPrefix(s, "on ")
		if ok {
			if rest == "topic2" {
				w.git("checkout", "-q", "-B", "topic2")
			} else {
				w.git("checkout", "-q", rest)
			}
			continue
		}
		file := ".git/config"
		if rest, ok := strings.CutPrefix(s, "user "); ok {
			s, file = rest, "../home/.gitconfig"
		}
		if rest, ok := strings.CutPrefix(s, "tree "); ok {
			s, file = rest, ".git/config.worktree"
		}
		key, value, _ := strings.Cut(s, "=")
		w.git("config", "-f", file, "--add", key, value)
	}
}

// read is what is read of a command line.
func (w *remotes) read(words []string) gitpush.Push {
	h := New(Options{Path: "/usr/bin:/bin", Home: w.home})
	dir, err := h.Directory(w.dir)
	if err != nil {
		w.Fatal(err)
	}
	defer dir.Close()
	return gitpush.Read(words, own, func(at gitpush.Location) gitpush.Repository {
		return h.Repository(policy.GitRun{Dir: dir, Location: at, Program: "/usr/bin/git", Home: w.home})
	})
}

// update is one line of git push --porcelain.
type update struct {
	flag byte
	ref  string
}

// pushed is what git would do, by its own word: git push with --dry-run.
func (w *remotes) pushed(words []string) []update {
	at := slices.Index(words, "push")
	full := slices.Insert(slices.Clone(words), at+1, "--dry-run", "--porcelain")
	out, _ := w.TryGit("work", full...)
	var list []update
	for s := bufio.NewScanner(strings.NewReader(out)); s.Scan(); {
		parts := strings.Split(s.Text(), "\t")
		if len(parts) < 3 || len(parts[0]) != 1 || parts[0] == "!" && strings.Contains(parts[2], "already exists") {
			continue // git replaces no tag without force
		}
		list = append(list, update{parts[0][0], parts[1][strings.LastIndexByte(parts[1], ':')+1:]})
	}
	return list
}

// holds reports what git does and the reading does not say.
func holds(p *gitpush.Push, done []update) error {
	for _, u := range done {
		i := slices.IndexFunc(p.Updates, func(said gitpush.Update) bool {
			return said.MayMeet([]string{u.ref}) && (u.flag != '+' || said.Force || said.Lease) && (u.flag != '-' || said.Delete)
		})
		if !p.Is || i < 0 {
			return fmt.Errorf("git does %c %s, and the reading is %s", u.flag, u.ref, saying(p))
		}
	}
	return nil
}

// saying writes a reading down.
func saying(p *gitpush.Push) string {
	switch {
	case !p.Is:
		return "no push"
	case !p.Whole:
		return "anything"
	case len(p.Updates) == 0:
		return "nothing"
	}
	var out []string
	for _, u := range p.Updates {
		var say strings.Builder
		for _, mark := range []struct {
			on   bool
			sign string
		}{{u.Force, "+"}, {u.Lease, "~"}, {u.Delete, "-"}} {
			if mark.on {
				say.WriteString(mark.sign)
			}
		}
		out = append(out, say.String()+strings.Join(u.To, "|"))
	}
	text := cmp.Or(p.Remote, "?") + ": " + strings.Join(out, " ")
	if p.Implied {
		text += " (implied)"
	}
	if len(p.Options) > 0 {
		text += " " + strings.Join(p.Options, " ")
	}
	return text
}

// TestGitUpdatesNoMoreThanIsRead: testdata/pushes.txt has forms of git push
// under situations, with what is read of them. What git itself would update,
// force and remove is within that.
func TestGitUpdatesNoMoreThanIsRead(t *testing.T) {
	w := newRemotes(t)
	const name = "testdata/pushes.txt"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	situation, forms, pushed, exact := "", 0, 0, 0
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if s, is := strings.CutPrefix(line, "# "); is || line == "" {
			if _, known := situations[s]; known {
				situation = s
				w.set(s)
			}
			fmt.Fprintln(&out, line)
			continue
		}
		form, want, _ := strings.Cut(line, "\t")
		words := strings.Fields(form)
		p := w.read(words[1:])
		if got := saying(&p); got != want && !*updatePushes {
			t.Errorf("%s: %s: read as %q, want %q", situation, form, got, want)
		}
		fmt.Fprintf(&out, "%s\t%s\n", form, saying(&p))
		forms++
		if !slices.Contains(words, "push") || slices.Contains(words, "subtree") || slices.Contains(words, "lfs") {
			continue
		}
		done := w.pushed(words[1:])
		if err := holds(&p, done); err != nil {
			t.Errorf("%s: %s: %v", situation, form, err)
		}
		if len(done) > 0 {
			pushed++
			if p.Whole {
				exact++
			}
		}
	}
	if *updatePushes {
		if err := os.WriteFile(name, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d forms; git pushes with %d of them, of which %d are understood", forms, pushed, exact)
	if forms < 150 || pushed < 90 || exact < 80 {
		t.Errorf("too few: %d forms, %d that push, %d understood", forms, pushed, exact)
	}
}

// TestRandomPushesAreWithinWhatIsRead puts options and refspecs together.
func TestRandomPushesAreWithinWhatIsRead(t *testing.T) {
	w := newRemotes(t)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	names := slices.Sorted(func(yield func(string) bool) {
		for s := range situations {
			if !yield(s) {
				return
			}
		}
	})
	options := []string{"-f", "--force", "--forc", "--force-with-lease", "-u", "--tags", "--all", "--prune", "-d", "--delete", "--follow-tags", "--no-follow-tags", "--no-force", "-q", "--mirror", "--atomic", "--repo=fork", "--", "-uf", "--del", "-c", "push.default=upstream"}
	refs := []string{"main", "feature/x", "HEAD", "@", "v1", "v2", "both", "x", "topic", "alias", "FOO", "refs/heads/main", "refs/tags/v1", "heads/main", "tags/v1", "gone", "onlytag", "for/review", "notes/n", "odd/thing", "main~0", "refs/heads/*", "refs/*", "late", "HEAD~0", "origin/main", "remotes/origin/main", "", "feature/alias", "main-worktree/HEAD"}
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	pushed := 0
	for range 4 {
		situation := pick(names)
		w.set(situation)
		for range 30 {
			words := []string{"push"}
			for range r.IntN(3) {
				words = append(words, pick(options))
			}
			if r.IntN(6) > 0 {
				words = append(words, pick([]string{"origin", "origin", "fork", "../origin.git"}))
			}
			for range r.IntN(3) {
				spec := pick(refs)
				if r.IntN(2) == 0 {
					spec += ":" + pick(refs)
				}
				words = append(words, pick([]string{"", "", "", "+", "^"})+spec)
			}
			p := w.read(words)
			done := w.pushed(words)
			if err := holds(&p, done); err != nil {
				t.Errorf("%s: git %q: %v", situation, words, err)
			}
			pushed += min(len(done), 1)
		}
	}
	t.Logf("%d of 120 push", pushed)
}

// own knows the commands of git that these tests use.
func own(sub string) bool { return sub == "status" || sub == "stash" }

// TestAnAliasDoesNotHideAProgram: git runs a program git-review before an alias
// of that name, so who plants alias.review = status has not made it harmless.
func TestAnAliasDoesNotHideAProgram(t *testing.T) {
	w := newRemotes(t)
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "git-review"), []byte("#!/bin/sh\necho the program\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.git("config", "alias.review", "status")
	w.git("config", "alias.lg", "log --oneline")
	cmd := exec.Command("git", "review")
	cmd.Dir, cmd.Env = w.dir, []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + w.home}
	if out, err := cmd.Output(); err != nil || string(out) != "the program\n" {
		t.Fatalf("git runs the alias: %q, %v", out, err)
	}
	h := New(Options{Path: bin + ":/usr/bin:/bin", Home: w.home})
	dir, err := h.Directory(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for sub, want := range map[string]bool{"review": true, "lg": false, "unheard-of": true} {
		p := gitpush.Read([]string{sub}, own, func(at gitpush.Location) gitpush.Repository {
			return h.Repository(policy.GitRun{Dir: dir, Location: at, Program: "/usr/bin/git", Home: w.home})
		})
		if p.Is != want {
			t.Errorf("git %s may push: %v, want %v", sub, p.Is, want)
		}
	}
}
