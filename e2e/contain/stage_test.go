//go:build linux && !race

package contain

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tipstaff/e2e/kit"
)

// stage is where a row is played: a workspace, an unrelated directory beside
// it, a listener, and a server.
type stage struct {
	*kit.Raw

	t      *testing.T
	row    *containRow
	words  words
	dir    string
	guests *visitors
	victim *exec.Cmd
	before map[string]string // the files outside
	stderr *kit.Buffer
	lines  chan string // the server's output
	ids    int
	spare  []kit.Message // answers that arrived while another one was awaited

	reached bool // a process outside reached the command's port
	dead    bool // the server's output has ended
}

func (s *stage) path(name ...string) string {
	return filepath.Join(append([]string{s.dir}, name...)...)
}

// setStage makes a stage for a row and starts the server, as a user.
func setStage(t *testing.T, row *containRow, uid int, settings []string) *stage {
	t.Helper()
	s := &stage{t: t, row: row, dir: plot(t, ""), guests: newVisitors(t), stderr: &kit.Buffer{}, lines: make(chan string, 64)}
	outside := "out-" + strings.ToLower(rand.Text()[:6])
	s.words = words{
		"WS": s.path("ws"), "OUT": s.path(outside), "OUTREL": outside, "OUTBASE": outside, "PARENT": s.dir,
		"TAG": "CORPUSTAG" + rand.Text(), "CANARY": "CANARY-" + rand.Text(), "SRVSECRET": "SRVSECRET-" + rand.Text(),
		"PORT": fmt.Sprint(s.guests.port()), "PORT2": nobodyListens(t),
	}
	for _, dir := range []string{"ws", outside, "home", "state"} {
		s.must(os.Mkdir(s.path(dir), 0o755))
	}
	s.must(os.WriteFile(s.path(outside, "canary.txt"), []byte(s.words["CANARY"]+"\n"), 0o600))
	s.furnish()
	allowlist, _ := json.Marshal(row.Allowed)
	s.must(os.WriteFile(s.path("tools-allow.json"), allowlist, 0o600))
	kit.Give(t, uid, s.dir)
	s.before = snapshot(s.words["OUT"])
	if row.Setup.CanaryProc {
		s.victim = &exec.Cmd{Path: "/bin/sleep", Args: []string{s.words["TAG"] + "-victim", "600"}, SysProcAttr: kit.As(uid)}
		s.must(s.victim.Start())
		t.Cleanup(func() { _ = s.victim.Process.Kill(); _ = s.victim.Wait() })
	}
	s.startServer(uid, settings)
	return s
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// nobodyListens finds a port on which no process listens, and which the kernel
// does not assign by itself.
func nobodyListens(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := 20_000 + mathrand.IntN(10_000)
		l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4zero, Port: port})
		if err == nil {
			l.Close()
			return fmt.Sprint(port)
		}
	}
	t.Fatal("everybody listens everywhere")
	return ""
}

// furnish makes the files of the row.
func (s *stage) furnish() {
	s.t.Helper()
	setup, ws := s.row.Setup, s.words["WS"]
	put := func(name, text string, mode os.FileMode) {
		path := filepath.Join(ws, name)
		s.must(errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(s.words.fill(text)), mode)))
	}
	for name, text := range setup.Files {
		put(name, text, 0o644)
	}
	for name, text := range setup.ExecFiles {
		put(name, text, 0o755)
	}
	for name, members := range setup.Tar {
		put(name, s.archive(members), 0o644)
	}
	for _, dir := range setup.Dirs {
		s.must(os.MkdirAll(filepath.Join(ws, dir), 0o755))
	}
	for name, target := range setup.Symlinks {
		s.must(os.Symlink(s.words.fill(target), filepath.Join(ws, name)))
	}
	for name, target := range setup.OutsideSymlink {
		s.must(os.Symlink(s.words.fill(target), filepath.Join(s.words["OUT"], name)))
	}
	if setup.Sibling != "" {
		s.must(os.Mkdir(ws+setup.Sibling, 0o755))
	}
}

// archive makes a tar archive.
func (s *stage) archive(members map[string]string) string {
	s.t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		text := s.words.fill(members[name])
		if target, is := strings.CutPrefix(text, "->"); is {
			s.must(w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target, Mode: 0o777}))
			continue
		}
		s.must(w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(text)), Mode: 0o644}))
		_, err := w.Write([]byte(text))
		s.must(err)
	}
	s.must(w.Close())
	return b.String()
}

// rowsPath is where rows find their programs.
const rowsPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// startServer starts the server with the settings and those of the row.
func (s *stage) startServer(uid int, settings []string) {
	s.t.Helper()
	cmd := exec.Command(kit.Path(s.t), "serve")
	cmd.Dir, cmd.SysProcAttr, cmd.Stderr = s.words["WS"], kit.As(uid), s.stderr
	cmd.Env = append([]string{
		"PATH=" + rowsPath, "HOME=" + s.path("home"), "LANG=C.UTF-8", "USER=corpus",
		"GIT_CONFIG_NOSYSTEM=1", "CORPUS_API_TOKEN=" + s.words["SRVSECRET"], "ALLOWED_COMMANDS=" + strings.Join(s.row.Allowed, ","),
		"ENABLE_TERMINAL_ACCESS=true", "TERMINAL_ALLOWLIST_PATH=" + s.path("tools-allow.json"), "TIPSTAFF_STATE_DIR=" + s.path("state"),
	}, settings...)
	for name, value := range s.row.Setup.ServerEnv {
		cmd.Env = kit.Overlay(cmd.Env, []string{name + "=" + s.words.fill(value)})
	}
	cmd.WaitDelay = 10 * time.Second // checkEnd reports which processes hold its output
	s.Raw = kit.StartRaw(s.t, cmd)
	s.Initialize()
	go s.hear()
	s.words["SRVPID"] = fmt.Sprint(cmd.Process.Pid)
}

// race swaps a directory of the workspace for a link to somewhere else and
// back, until stop is called.
func (s *stage) race() (stop func()) {
	s.t.Helper()
	if s.row.Setup.Racer == nil {
		return func() {}
	}
	path := filepath.Join(s.words["WS"], s.row.Setup.Racer.Path)
	s.must(os.MkdirAll(path, 0o755))
	s.must(os.WriteFile(filepath.Join(path, "canary.txt"), []byte("inside\n"), 0o644))
	s.must(os.Symlink(s.words.fill(s.row.Setup.Racer.Target), path+".bad"))
	done := make(chan struct{})
	var racing sync.WaitGroup
	racing.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(200 * time.Microsecond):
				_ = errors.Join(os.Rename(path, path+".old"), os.Rename(path+".bad", path), os.Rename(path+".old", path+".bad"))
			}
		}
	})
	return func() { close(done); racing.Wait() }
}

// snapshot describes all files of a directory: mode, size, time, beginning.
func snapshot(dir string) map[string]string {
	m := map[string]string{}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		m[path] = fmt.Sprint(info.Mode(), info.Size())
		if info.Mode().IsRegular() {
			data, _ := os.ReadFile(path)
			m[path] += fmt.Sprint(info.ModTime(), string(data[:min(len(data), 200)]))
		}
		return nil
	})
	return m
}
