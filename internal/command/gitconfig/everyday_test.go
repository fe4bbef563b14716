package gitconfig_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tipstaff/internal/command/gitconfig"
)

// TestEverydayGitPasses: what real git writes into configurations, in a
// repository that holds entries of a person's, is let through; and nothing that
// it writes into new ones is found unsafe.
func TestEverydayGitPasses(t *testing.T) {
	p := newPerson(t, "")
	p.run(".", "git init -q --bare up.git; git init -q lib; cd lib; git commit -q --allow-empty -m lib; cd ..; git clone -q --bare lib lib.git")
	p.run(".", "git clone -q up.git repo; cd repo; echo a >a; git add a; git commit -qm a; git config alias.x '!sh'; git config core.hooksPath .husky; git config http.extraHeader secret")
	changes := 0
	for _, line := range []string{
		"git push -q -u origin main",
		"git config user.email agent@example.org", "git config --unset user.email", "git config user.name 'A \"B\" #c; d'",
		"git config pull.rebase true", "git config commit.gpgsign false", "git config --add remote.origin.fetch '+refs/pull/*:refs/pull/*'",
		"git remote add second https://example.org/a.git", "git remote set-url second git@example.org:b.git", "git remote set-url --push second ssh://git@example.org:22/b.git",
		"git remote set-branches second main dev", "git remote rename second third", "git remote remove third",
		"git switch -q -c topic", "git push -q -u origin topic", "git switch -q main", "git branch -q --unset-upstream", "git branch -q --set-upstream-to=origin/main",
		"git branch -q -m topic other", "git branch -q -D other", "git fetch -q", "git switch -q topic", "git switch -q main", "git checkout -q -b local --track main",
		"git switch -q main", "GIT_EDITOR='echo text >' git branch --edit-description local", "git branch -q -D local topic",
		"git submodule --quiet add ../lib.git lib", "git commit -qm lib", "git submodule --quiet add --name a/b -b main ../lib.git deep/er", "git commit -qm deeper",
		"git submodule --quiet update --init --recursive", "git submodule --quiet sync", "git submodule --quiet set-url lib ../lib.git", "git mv lib moved", "git commit -qm moved",
		"git submodule --quiet deinit -f moved", "git submodule --quiet update --init", "git -C moved config user.name x", "git submodule --quiet deinit -f --all",
		"git worktree add -q ../beside", "git worktree add -q below", "git -C ../beside config user.name y", "git worktree remove below", "git worktree prune",
		"git sparse-checkout init --cone", "git sparse-checkout set src", "git sparse-checkout disable",
		"git stash -q || true", "git rebase -q --root", "git maintenance run --quiet", "git gc -q", "git notes add -m x",
		"git config rerere.enabled true", "git config core.autocrlf input", "git config http.postBuffer 524288000", "git config advice.detachedHead false", "git config color.ui auto",
		"git config core.sparseCheckout true", "git config core.fileMode false", "git config branch.main.vscode-merge-base origin/main", "git config push.default current",
	} {
		before := configurations(t, p, "repo")
		p.run("repo", line)
		for path, text := range configurations(t, p, "repo") {
			r := gitconfig.Repository{Dir: filepath.Dir(path)}
			old, there := before[path]
			switch {
			case !there:
				if found := r.Unsafe(text); len(found) > 0 {
					t.Errorf("%s makes %s: %v", line, path, found)
				}
			case !bytes.Equal(old, text):
				changes++
				if err := r.Judge(old, text); err != nil {
					t.Errorf("%s: %s: %v", line, path, err)
				}
			}
		}
	}
	if changes < 40 {
		t.Errorf("only %d changes were judged", changes)
	}
	p.run(".", "git init -q new; git init -q --bare new.git; git init -q --separate-git-dir=away apart; git clone -q --mirror up.git mirror.git; git clone -q --depth 1 file://$PWD/up.git shallow; "+
		"git clone -q --bare up.git bare/.git; git clone -q --filter=blob:none file://$PWD/up.git partial; git clone -q --sparse up.git sparse; git clone -q --recurse-submodules lib clone; git init -q --object-format=sha256 sha")
	for _, dir := range []string{"new", "new.git", "away", "mirror.git", "shallow", "bare", "partial", "sparse", "clone", "sha"} {
		for path, text := range configurations(t, p, dir) {
			if found := (gitconfig.Repository{Dir: filepath.Dir(path)}).Unsafe(text); len(found) > 0 {
				t.Errorf("%s: %v", path, found)
			}
		}
	}
}

// configurations gives those of all repositories below a directory.
func configurations(t *testing.T, p *person, dir string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := filepath.WalkDir(p.At(dir), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() != "config" && e.Name() != "config.worktree" {
			return err
		}
		found[path], err = os.ReadFile(path)
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %d configurations, %v", dir, len(found), err)
	}
	return found
}

// TestLFSIsRefusedWithItsReason uses what git lfs install --local of git-lfs 3
// writes.
func TestLFSIsRefusedWithItsReason(t *testing.T) {
	lfs := "[lfs]\n\trepositoryformatversion = 0\n[filter \"lfs\"]\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n\tclean = git-lfs clean -- %f\n"
	err := testRepository.Judge(nil, []byte(lfs))
	if err == nil || strings.Count(err.Error(), "git lfs install --local writes filters that name a program; ask a person to run git lfs install") != 3 {
		t.Error(err)
	}
}
