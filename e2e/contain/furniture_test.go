//go:build linux && !race

package contain

import (
	"archive/tar"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tipstaff/e2e/kit"
)

// furniture is what many forms need, made once: workspaces, and the paths of
// programs.
//
//	repo    a repository with two commits, and another one like it in repo/
//	bisect  the same, in the middle of a bisect
//	evil    a repository in evil/ whose configuration names the payload
//	big     a file that sort cannot hold in memory
//	tar     an archive with one file
type furniture struct {
	path       string
	env        []string
	workspaces map[string]string // by name

	mu      sync.Mutex
	missing map[string]error // program and user → why it cannot be run; nil if it can
}

func furnishForms(t *testing.T) *furniture {
	t.Helper()
	f := &furniture{path: "/usr/local/bin:/usr/bin:/bin", workspaces: map[string]string{}, missing: map[string]error{}}
	if home, err := os.UserHomeDir(); err == nil {
		f.env = []string{"RUSTUP_HOME=" + filepath.Join(home, ".rustup")}
	}
	for _, name := range []string{"go", "cargo"} {
		if path, err := exec.LookPath(name); err == nil {
			f.path += ":" + filepath.Dir(path)
		}
	}
	dir := plot(t, "")
	for _, name := range []string{"repo", "bisect", "evil", "big", "tar"} {
		f.workspaces[name] = filepath.Join(dir, name)
	}
	for _, repository := range []string{"repo", "repo/repo", "bisect", "evil/evil"} {
		commitTwice(t, filepath.Join(dir, repository))
	}
	git(t, f.workspaces["bisect"], "bisect", "start", "HEAD", "HEAD~1")
	var big strings.Builder
	for i := range 4_000 {
		fmt.Fprintf(&big, "a line of a file that is long %d\n", i*7919%4_000)
	}
	writeFiles(t, f.workspaces["big"], map[string]string{"big": big.String()})
	writeFiles(t, f.workspaces["tar"], nil)
	archive(t, filepath.Join(f.workspaces["tar"], "a.tar"))
	return f
}

func commitTwice(t *testing.T, dir string) {
	t.Helper()
	writeFiles(t, dir, map[string]string{"f": "hello\n"})
	git(t, dir, "init", "--quiet")
	for _, text := range []string{"hello\n", "hello\nagain\n"} {
		writeFiles(t, dir, map[string]string{"f": text})
		git(t, dir, "add", "f")
		git(t, dir, "commit", "--quiet", "--message", "x")
	}
}

func git(t *testing.T, dir string, argv ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, argv...)...)
	cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "HOME=" + dir}
	if out, err := cmd.CombinedOutput(); err != nil {
		absent(t, "git", fmt.Sprintf("%s: %v: %s", argv[0], err, out))
	}
}

func archive(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(file)
	err = w.WriteHeader(&tar.Header{Name: "member", Typeflag: tar.TypeReg, Size: 2, Mode: 0o644})
	if err == nil {
		_, err = w.Write([]byte("x\n"))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
}

// has says why a user cannot run a program of the kit's path.
func (f *furniture) has(name string, uid int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := fmt.Sprint(name, uid)
	err, known := f.missing[key]
	if !known {
		script := `command -v "$0" >/dev/null && test -x "$(command -v "$0")"`
		if slices.Contains([]string{"cargo", "docker"}, name) { // launchers that may have nothing to launch
			script = `"$0" --version`
		}
		cmd := exec.Command("/bin/sh", "-c", script, name)
		cmd.Env, cmd.SysProcAttr, cmd.Dir = append(f.env, "PATH="+f.path, "HOME=/nonexistent"), kit.As(uid), "/"
		err = cmd.Run()
		f.missing[key] = err
	}
	return err
}
