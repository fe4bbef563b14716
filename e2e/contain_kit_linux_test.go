//go:build contain

package e2e

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
)

// formsKit is what many forms need, made once: workspaces, and where programs
// are.
//
//	repo    a repository with two commits, and another one like it in repo/
//	bisect  the same, while it is bisected
//	evil    a repository in evil/ whose configuration names the payload
//	big     a file that sort does not hold in memory
//	tar     an archive with one file
type formsKit struct {
	path string
	env  []string
	made map[string]string

	mu      sync.Mutex
	missing map[string]error // program and user → why it cannot be run; nil if it can
}

func newFormsKit(t *testing.T) *formsKit {
	t.Helper()
	k := &formsKit{path: "/usr/local/bin:/usr/bin:/bin", made: map[string]string{}, missing: map[string]error{}}
	if home, err := os.UserHomeDir(); err == nil {
		k.env = []string{"RUSTUP_HOME=" + filepath.Join(home, ".rustup")}
	}
	for _, name := range []string{"go", "cargo"} {
		if path, err := exec.LookPath(name); err == nil {
			k.path += ":" + filepath.Dir(path)
		}
	}
	dir := plot(t, "")
	for _, name := range []string{"repo", "bisect", "evil", "big", "tar"} {
		k.made[name] = filepath.Join(dir, name)
	}
	for _, repository := range []string{"repo", "repo/repo", "bisect", "evil/evil"} {
		commitTwice(t, filepath.Join(dir, repository))
	}
	git(t, k.made["bisect"], "bisect", "start", "HEAD", "HEAD~1")
	var big strings.Builder
	for i := range 4_000 {
		fmt.Fprintf(&big, "a line of a file that is long %d\n", i*7919%4_000)
	}
	writeFiles(t, k.made["big"], map[string]string{"big": big.String()})
	writeFiles(t, k.made["tar"], nil)
	archive(t, filepath.Join(k.made["tar"], "a.tar"))
	return k
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
		t.Skipf("git %s: %v: %s", argv[0], err, out)
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
func (k *formsKit) has(name string, uid int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := fmt.Sprint(name, uid)
	err, known := k.missing[key]
	if !known {
		script := `command -v "$0" >/dev/null && test -x "$(command -v "$0")"`
		if slices.Contains([]string{"cargo", "docker"}, name) { // launchers that may have nothing to launch
			script = `"$0" --version`
		}
		cmd := exec.Command("/bin/sh", "-c", script, name)
		cmd.Env, cmd.SysProcAttr, cmd.Dir = append(k.env, "PATH="+k.path, "HOME=/nonexistent"), credential(uid), "/"
		err = cmd.Run()
		k.missing[key] = err
	}
	return err
}
