//go:build linux && !race

package escape

import (
	"crypto/rand"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tipstaff/e2e/kit"
)

// TestEscapeE08ASecretThatIsReplacedStaysHidden: people and programs replace
// secret files and directories while a command runs. A mount disappears with
// the name on which it stands.
func TestEscapeE08ASecretThatIsReplacedStaysHidden(t *testing.T) {
	ownEtc(t)
	files, dirs := []string{".netrc", ".git-credentials"}, []string{".ssh/id_ed25519", ".aws/credentials"}
	for says, h := range map[string]habitat{
		"in a home with secrets of all kinds": {},
		"in a home that has directories of them alone": {furnish: func(_ *testing.T, w *world) {
			for _, name := range []string{".netrc", ".git-credentials", ".bash_history", "tools-allow.json"} {
				_ = os.Remove(w.path("home", name))
			}
		}},
	} {
		t.Run(says, func(t *testing.T) {
			everywhere(t, h, func(t *testing.T, w *world) {
				replaced := map[string]func(path string) error{}
				for _, name := range dirs {
					replaced[w.path("home", name)] = w.replaceDir
				}
				for _, name := range files {
					if h.furnish == nil {
						replaced[w.path("home", name)] = w.replace
					}
				}
				if w.uid == 0 && kit.MachinesRoot() {
					etc.Lock()
					defer etc.Unlock()
					replaced["/etc/shadow"], replaced["/etc/ssl/private/key"] = w.replace, w.replaceDir
				}
				w.replacedMeanwhile(t, replaced)
			})
		})
	}
}

// etc is locked while something in the /etc of ownEtc is replaced.
var etc sync.Mutex

// replacedMeanwhile replaces files while a command waits that reads them
// afterwards.
func (w *world) replacedMeanwhile(t *testing.T, replaced map[string]func(path string) error) {
	t.Helper()
	paths := slices.Sorted(maps.Keys(replaced))
	answer, goOn := w.waiting(t, "cat "+strings.Join(paths, " "))
	for _, path := range paths {
		if err := replaced[path](path); err != nil {
			t.Error(path, err)
		}
	}
	goOn()
	said := (<-answer).YAML().Stdout
	for _, path := range paths {
		if strings.Contains(said, newSecret(path)) != (w.tier == kit.None) {
			t.Errorf("what is in %s now was read: %t", path, w.tier != kit.None)
		}
	}
}

func newSecret(path string) string { return "the new secret of " + path + "\n" }

// replace replaces a file with a new one, as passwd and editors do.
func (w *world) replace(path string) error {
	if err := os.WriteFile(path+".new", []byte(newSecret(path)), 0o600); err != nil {
		return err
	}
	if err := os.Chown(path+".new", w.uid, w.uid); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// replaceDir replaces a directory with a new one that contains a file.
func (w *world) replaceDir(path string) error {
	dir := filepath.Dir(path)
	if err := os.RemoveAll(dir + ".old"); err != nil {
		return err
	}
	if err := os.Rename(dir, dir+".old"); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := os.Chown(dir, w.uid, w.uid); err != nil {
		return err
	}
	return w.replace(path)
}

// waiting runs a script that begins only when goOn is called.
func (w *world) waiting(t *testing.T, script string) (answer chan kit.Reply, goOn func()) {
	t.Helper()
	s := w.On(t)
	ready, pipe := w.path("ws/ready"), w.path("ws/go")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	w.own(t)
	answer = make(chan kit.Reply, 1)
	go func() {
		answer <- s.Process("sh", []string{"-c", "echo > ready; : < go; " + script}, kit.Args{"timeout_ms": 110_000})
	}()
	kit.Eventually(t, "the script waits", func() bool { _, err := os.Stat(ready); return err == nil })
	return answer, func() {
		f, err := os.OpenFile(pipe, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
	}
}

// ownEtc replaces the machine's /etc with a copy, for this test and the servers
// that it starts.
func ownEtc(t *testing.T) {
	t.Helper()
	contained(t)
	if !kit.MachinesRoot() {
		return
	}
	dir := filepath.Join(ground(t), "etc")
	if out, err := exec.Command("cp", "-a", "/etc", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.MkdirAll(filepath.Join(dir, "ssl/private"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount(dir, "/etc", "", syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount("/etc", syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir)
	})
}

// TestEscapeE02UnderOtherProfiles: read-only allows no writing, and open lifts
// only restrictions on files.
func TestEscapeE02UnderOtherProfiles(t *testing.T) {
	const readOnly, open = "TIPSTAFF_SANDBOX_PROFILE=read-only", "TIPSTAFF_SANDBOX_PROFILE=open"
	t.Run("read-only", func(t *testing.T) {
		tried(t, habitat{confined: []string{readOnly}}, []escape{
			{says: "E02 the workspace is not written", try: "create {ws}/new", namespaces: "EROFS", landlock: "EACCES"},
			{says: "E03 nor what is in it", try: "append {ws}/file", namespaces: "EROFS", landlock: "EACCES"},
			{says: "E08 nor is a secret read", try: "read {home}/.ssh/id_ed25519", namespaces: "EACCES", landlock: "EACCES", gets: secret},
			{says: "E01 it is read", try: "read {ws}/file", namespaces: "ok", landlock: "ok", gets: "here ws"},
		}, nil)
	})
	t.Run("open", func(t *testing.T) {
		tried(t, habitat{confined: []string{open}}, []escape{
			{says: "E02 a file is written anywhere", try: "create {out}/new", namespaces: "ok", landlock: "ok", harms: true},
			{says: "E08 tipstaff's own files are not read", try: "list {state}/audit", namespaces: "EACCES", landlock: "ok EACCES"},
			// A filter that refuses tracing says EPERM; where own processes may be traced, the others are not there.
			{says: "E22 others are not traced", try: "ptrace {victim}", namespaces: "EPERM ESRCH", landlock: "EPERM"},
			{says: "E23 nor sent signals", try: "kill {victim} 10", namespaces: "ESRCH", landlock: "EPERM", signals: true},
			{says: "E20 nor looked into", try: "read /proc/{victim}/environ", namespaces: "ENOENT", landlock: "EACCES"},
			{says: "E32 sockets of Unix send no datagrams", try: "socket 1 2 0", namespaces: "ESOCKTNOSUPPORT", landlock: "ESOCKTNOSUPPORT"},
			{says: "E40 there is no world of one's own", try: "unshare-user", namespaces: "EPERM", landlock: "EPERM"},
			{says: "E14 no program gets its owner's rights", try: "chmod {ws}/file 4755", namespaces: "EPERM", landlock: "EPERM"},
		}, nil)
	})
}

// TestEscapeE08TheHomesOfOthersAreClosed: one that only its owner may enter,
// and one that all users may. Neither makes the sandbox unavailable.
func TestEscapeE08TheHomesOfOthersAreClosed(t *testing.T) {
	contained(t)
	if !kit.MachinesRoot() {
		t.Skip("only root makes homes of others")
	}
	if err := syscall.Mount("none", "/home", "tmpfs", 0, "mode=755"); err != nil {
		t.Skip("this machine has no place for homes: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount("/home", syscall.MNT_DETACH) })
	const other = 1001
	for name, mode := range map[string]os.FileMode{"closed": 0o700, "public": 0o755} {
		for _, file := range []string{".ssh/id_ed25519", ".netrc", "notes"} {
			path := filepath.Join("/home", name, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(secret), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		kit.Give(t, other, filepath.Join("/home", name))
		if err := os.Chmod(filepath.Join("/home", name), mode); err != nil {
			t.Fatal(err)
		}
	}
	rows := []escape{
		{says: "E08 a key in a closed home", try: "read /home/closed/.ssh/id_ed25519", namespaces: "EACCES", landlock: "EACCES", gets: secret, rootOnly: "modes keep it as well"},
		{says: "E08 a file in a closed home", try: "read /home/closed/notes", namespaces: "EACCES", landlock: "EACCES", gets: secret, rootOnly: "modes keep it as well"},
		{says: "E08 a key in a public home", try: "read /home/public/.ssh/id_ed25519", namespaces: "EACCES", landlock: "EACCES", gets: secret},
		{says: "E08 a password in a public home", try: "read /home/public/.netrc", namespaces: "EACCES ok", landlock: "EACCES", gets: secret},
		{says: "E08 what is no secret there", try: "read /home/public/notes", namespaces: "ok", landlock: "ok", gets: secret},
	}
	everywhere(t, habitat{}, func(t *testing.T, w *world) { w.tries(t, rows, nil) })
}

// TestEscapeE02TemporaryFilesStayInTheRoom: processes outside cannot find what
// a command leaves in /tmp, which all users share.
func TestEscapeE02TemporaryFilesStayInTheRoom(t *testing.T) {
	t.Parallel()
	everywhere(t, habitat{}, func(t *testing.T, w *world) {
		for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
			if _, err := os.Stat(dir); err != nil {
				continue
			}
			t.Run("E02 "+dir, func(t *testing.T) {
				file := filepath.Join(dir, "tipstaff-gotcha-"+rand.Text())
				t.Cleanup(func() { _ = os.Remove(file) })
				o := outcomeOf(t, w.On(t).Process("testcmd", []string{"attempt", "create", file}))
				shared := w.tier == kit.None || w.tier == kit.Landlock && dir == "/dev/shm" // Landlock cannot replace it
				if o.OK != (shared || w.tier == kit.Namespaces) {
					t.Errorf("%+v", o)
				}
				if _, err := os.Stat(file); (err == nil) != shared {
					t.Errorf("outside: %v", err)
				}
			})
		}
	})
}
