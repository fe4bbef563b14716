//go:build linux

package guard

import (
	"fmt"
	"strings"
	"testing"
)

// lfsHooks are those of two versions of git-lfs, by what they print where it is missing.
var lfsHooks = []string{
	`echo >&2 "\nThis repository is configured for Git LFS but 'git-lfs' was not found on your path.\n"`,
	`printf >&2 "\n%s\n\n" "This repository is configured for Git LFS but 'git-lfs' was not found on your path (set by 'core.hookspath'; usually '.git/hooks')."`,
}

func lfsHookOf(name, prints string) string {
	return fmt.Sprintf("#!/bin/sh\ncommand -v git-lfs >/dev/null 2>&1 || { %s; exit 2; }\ngit lfs %s \"$@\"\n", prints, name)
}

// TestHooksOfGitLFSMayCome, in repositories that were there and in new ones.
func TestHooksOfGitLFSMayCome(t *testing.T) {
	for _, made := range []bool{false, true} {
		for i, prints := range lfsHooks {
			w := newWorkspace(t)
			w.skeleton("r")
			if made {
				w.Must(removeAll(mustOpen(t, w.At("r/hooks")), "pre-commit"))
			}
			w.Protect(w.Root, Repository(w.At("r"), made))
			found, stopped := w.attack(func() {
				for _, name := range []string{"pre-push", "post-checkout", "post-commit", "post-merge"} {
					w.write("r/hooks/"+name, lfsHookOf(name, prints))
				}
			})
			if found != "" || stopped {
				t.Errorf("made: %v, version %d: violations %q, stopped %v", made, i, found, stopped)
			}
			w.says("r/hooks/post-merge", lfsHookOf("post-merge", prints))
		}
	}
}

// TestWhatLooksLikeAHookOfGitLFS is put back.
func TestWhatLooksLikeAHookOfGitLFS(t *testing.T) {
	plain := lfsHookOf("pre-push", lfsHooks[0])
	for name, hook := range map[string]string{
		"pre-commit":    lfsHookOf("pre-commit", lfsHooks[0]),
		"post-merge":    lfsHookOf("pre-push", lfsHooks[0]),
		"pre-push":      plain + "evil\n",
		"post-checkout": "#!/bin/evil\n" + strings.SplitN(lfsHookOf("post-checkout", lfsHooks[0]), "\n", 2)[1],
		"post-commit":   strings.Replace(lfsHookOf("post-commit", lfsHooks[0]), "This", "$(evil)", 1),
	} {
		w := newWorkspace(t)
		w.repository("r")
		was := w.text("r/hooks/" + name)
		if found, stopped := w.attack(func() { w.write("r/hooks/"+name, hook) }); found != "r/hooks" || !stopped {
			t.Errorf("%s: violations %q, stopped %v, of\n%s", name, found, stopped, hook)
		}
		w.says("r/hooks/"+name, was)
	}
	for _, text := range []string{"`evil`", `\"; evil; \"`, `"; evil; "`, `\\"; evil #`, "a\nevil", "$IFS"} {
		c := content{form: file, text: []byte(strings.Replace(plain, "This", text, 1))}
		if lfsHook("pre-push", c) {
			t.Errorf("%s passes", c.text)
		}
	}
	if !lfsHook("pre-push", content{form: file, text: []byte(plain)}) {
		t.Error("the control does not pass")
	}
}

func mustOpen(t *testing.T, dir string) int {
	t.Helper()
	fd, err := openDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closed(fd) })
	return fd
}
