//go:build linux

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tipstaff/e2e/kit"
)

// TestSSHOfAnOrdinaryUserReadsRootsSettings: systemd puts a file into ssh_config.d, a link,
// and Fedora's files there include others. In a namespace that does not know root, ssh
// took them for a stranger's and did nothing. The controls are a file that belongs to a
// stranger, and one that others can write, which ssh refuses anywhere.
func TestSSHOfAnOrdinaryUserReadsRootsSettings(t *testing.T) {
	if !kit.MachinesRoot() {
		t.Skip("only root can give a test an /etc/ssh of its own, with files of root's")
	}
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("there is no ssh here")
	}
	dir, err := os.MkdirTemp("/var/tmp", "ssh-settings-*") //nolint:usetesting // /tmp is not the command's
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, name := range []string{"etc/ssh_config.d", "home/project", "etc/elsewhere"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"etc/ssh_config":                 "# Include nothing\n  include=\"/etc/ssh/ssh_config.d/*.conf\"\nHost *\n  Port 2201\n",
		"etc/ssh_config.d/10-plain.conf": "Host plain\n  User plainly\n",
		"etc/elsewhere/20-systemd.conf":  "Host linked\n  User by-link\n  Include deeper.conf\n",
		"etc/deeper.conf":                "Host linked\n  Port 2202\n",
		"etc/stranger.conf":              "Host *\n  User stranger\n",
		"etc/writable.conf":              "Host *\n  User anybody\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	err = errors.Join(os.Chmod(dir, 0o755), os.Symlink("/etc/ssh/elsewhere/20-systemd.conf", filepath.Join(dir, "etc/ssh_config.d/20-systemd.conf")),
		os.Chown(filepath.Join(dir, "etc/stranger.conf"), 2, 2), os.Chmod(filepath.Join(dir, "etc/writable.conf"), 0o666))
	if err != nil {
		t.Fatal(err)
	}
	kit.Give(t, kit.Ordinary, filepath.Join(dir, "home"))
	say := func(host string) (out string, code int) {
		cmd := exec.Command(kit.Path(t), "run", "--", ssh, "-G", host)
		cmd.Dir, cmd.SysProcAttr = filepath.Join(dir, "home/project"), kit.As(kit.Ordinary)
		cmd.Env = append(kit.Sandboxed(kit.Namespaces), "PATH=/usr/bin:/bin", "HOME="+filepath.Join(dir, "home"), "TIPSTAFF_STATE_DIR="+filepath.Join(dir, "home/state"), "ALLOWED_COMMANDS="+ssh)
		done := make(chan []byte)
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends, and its mounts with it
			err := errors.Join(unix.Unshare(unix.CLONE_NEWNS), unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""),
				unix.Mount(filepath.Join(dir, "etc"), "/etc/ssh", "", unix.MS_BIND, ""))
			if err != nil {
				t.Error(err)
			}
			out, _ := cmd.CombinedOutput() // the code says it
			done <- out
		}()
		return string(<-done), cmd.ProcessState.ExitCode()
	}
	for host, want := range map[string][]string{"plain": {"user plainly", "port 2201"}, "linked": {"user by-link", "port 2202"}, "other": {"port 2201"}} {
		out, code := say(host)
		for _, line := range want {
			if code != 0 || !strings.Contains("\n"+out, "\n"+line+"\n") {
				t.Errorf("%s: %d, want %s\n%.300s", host, code, line, out)
			}
		}
	}
	for _, refused := range []string{"stranger.conf", "writable.conf"} {
		name := filepath.Join(dir, "etc/ssh_config.d/30.conf")
		if err := os.Rename(filepath.Join(dir, "etc", refused), name); err != nil {
			t.Fatal(err)
		}
		if out, code := say("plain"); code != 255 || !strings.Contains(out, "Bad owner or permissions") {
			t.Errorf("%s: %d\n%.500s", refused, code, out)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}
