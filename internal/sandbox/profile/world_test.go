//go:build unix

package profile

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// world is a machine in a directory: what the tables say of / they say of it.
type world struct {
	*testing.T
	root string
	Machine
}

// newWorld makes files and directories (names that end with a slash). The home
// directory is /home/me, the workspace /home/me/ws.
func newWorld(t *testing.T, names ...string) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, root: root, Machine: Machine{Home: root + "/home/me", root: root}}
	w.add("home/me/ws/", "etc/passwd", "usr/bin/")
	w.add(names...)
	return w
}

func (w *world) add(names ...string) {
	w.Helper()
	for _, name := range names {
		path := w.at(name)
		if strings.HasSuffix(name, "/") {
			w.must(os.MkdirAll(path, 0o755))
			continue
		}
		w.write(name, "x\n")
	}
}

func (w *world) write(name, text string) {
	w.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.at(name)), 0o755))
	w.must(os.WriteFile(w.at(name), []byte(text), 0o644))
}

func (w *world) link(target, name string) {
	w.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.at(name)), 0o755))
	w.must(os.Symlink(target, w.at(name)))
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) at(name string) string { return filepath.Join(w.root, name) }

// name is a path without the directory that the world is in.
func (w *world) name(path string) string { return strings.TrimPrefix(path, w.root) }

func (w *world) resolve(p Profile, workspaces ...string) Paths {
	w.Helper()
	if workspaces == nil {
		workspaces = []string{"home/me/ws"}
	}
	var list []string
	for _, name := range workspaces {
		list = append(list, w.at(name))
	}
	paths, err := p.Resolve(w.Context(), w.Machine, list)
	w.must(err)
	return paths
}

// names are those of paths, for comparison.
func (w *world) names(paths []string) string {
	var list []string
	for _, p := range paths {
		list = append(list, w.name(p))
	}
	return strings.Join(list, " ")
}

func (w *world) hidden(p Paths) string {
	var list []string
	for _, h := range p.Hidden {
		list = append(list, w.name(h.Path))
	}
	return strings.Join(list, " ")
}

// pinned gives the pins; those that are only held in place have a + before them.
func (w *world) pinned(p Paths) string {
	var list []string
	for _, pin := range p.Pinned {
		name := w.name(pin.Path)
		if pin.InPlace {
			name = "+" + name
		}
		list = append(list, name)
	}
	return strings.Join(list, " ")
}

func (w *world) entries(list []Entry) string {
	var names []string
	for _, p := range list {
		names = append(names, w.name(p.Path))
	}
	return strings.Join(names, " ")
}

// says checks that one of the notes has all the words.
func (w *world) says(notes []string, words ...string) {
	w.Helper()
	if !slices.ContainsFunc(notes, func(note string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(note, word) })
	}) {
		w.Errorf("no note says %q:\n%s", words, strings.Join(notes, "\n"))
	}
}

func (w *world) equal(what, got, want string) {
	w.Helper()
	if got != want {
		w.Errorf("%s:\ngot  %s\nwant %s", what, got, want)
	}
}

// git runs the real one, away from the settings of whoever tests.
func (w *world) git(dir string, args ...string) string {
	w.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		w.Skip("git is not installed, so what it makes is not looked at")
	}
	cmd := exec.CommandContext(w.Context(), program, append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = w.at(dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.root, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// repository makes one with a commit.
func (w *world) repository(dir string) {
	w.Helper()
	w.add(dir + "/")
	w.git(dir, "init", "-q")
	w.write(dir+"/file", "text\n")
	w.git(dir, "add", "file")
	w.git(dir, "commit", "-q", "-m", "first")
}
