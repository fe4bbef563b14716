//go:build contain

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/internal/landlock"
)

// The tiers, by the names that settings and records use.
const (
	namespacesTier = "namespaces"
	landlockTier   = "landlock"
	noTier         = "none"
)

// testUsers are those as whom servers run: root, and one who is nobody in
// particular. A tester who is not the machine's root is alone.
func testUsers() []int {
	ids, err := os.ReadFile("/proc/self/uid_map")
	if err != nil || os.Geteuid() != 0 || !strings.Contains(string(ids), "4294967295") {
		return []int{os.Geteuid()}
	}
	return []int{0, 1000}
}

// arrangement is a way in which commands are confined, and for whom.
type arrangement struct {
	tier string
	uid  int
}

func (a arrangement) String() string { return fmt.Sprintf("%s, as user %d", a.tier, a.uid) }

// arrangements are those that everything is shown in. Under the race detector,
// with which each server takes a second to start, each tier and each user are
// there, but not each with each: who somebody is makes no race.
func arrangements() []arrangement {
	root, ordinary := testUsers()[0], slices.Max(testUsers())
	all := []arrangement{{namespacesTier, ordinary}, {landlockTier, root}}
	if raceEnabled || root == ordinary {
		return all
	}
	return append(all, arrangement{namespacesTier, root}, arrangement{landlockTier, ordinary})
}

// credential makes a process the user's.
func credential(uid int) *syscall.SysProcAttr {
	if uid == os.Geteuid() {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
}

// sandboxed are the settings that ask for a tier.
func sandboxed(tier string) []string {
	switch tier {
	case namespacesTier:
		return []string{"TIPSTAFF_SANDBOX=require", "TIPSTAFF_SANDBOX_TIER=namespaces"}
	case landlockTier:
		return []string{"TIPSTAFF_SANDBOX=best-effort", "TIPSTAFF_SANDBOX_TIER=landlock"}
	default:
		return []string{"TIPSTAFF_SANDBOX=off"}
	}
}

// give makes everything in a directory the user's.
func give(t *testing.T, uid int, dir string) {
	t.Helper()
	if uid == os.Getuid() {
		return
	}
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, uid, uid))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// plot is a directory, removed in the end, that any user can reach. Tests make
// what is in it and give it away.
func plot(t *testing.T, parent string) string {
	t.Helper()
	dir, err := os.MkdirTemp(parent, "tipstaff-e2e-") //nolint:usetesting // only its owner can enter what t.TempDir lies in
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return canonical(t, dir)
}

// homesDir is where homes are. A home below /tmp would be out of sight in the
// namespaces tier as everything there is, which is no test of what hides it.
func homesDir(t *testing.T) string {
	t.Helper()
	if os.Geteuid() == 0 {
		if st, err := os.Stat("/home"); err != nil || !st.IsDir() {
			t.Skip("there is no /home to make a user's home in: ", err)
		}
		return "/home"
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip("no home directory to make another one in: ", err)
	}
	return home
}

// writeFiles makes files below a directory; those that begin with #! can be run.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		mode := os.FileMode(0o644)
		if strings.HasPrefix(content, "#!") {
			mode = 0o755
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), mode)); err != nil {
			t.Fatal(err)
		}
	}
}

// needTier skips the test where the kernel does not give the tier to the user,
// and fails it where only tipstaff does not.
func needTier(t *testing.T, tier string, uid int) {
	t.Helper()
	dir := plot(t, "")
	give(t, uid, dir)
	cmd := exec.Command(reachable(t), "doctor", "--json")
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=" + dir}, sandboxed(tier)...)
	cmd.Dir, cmd.SysProcAttr = dir, credential(uid)
	out, err := cmd.Output() // it fails where it finds something wrong, and says so in what it prints
	var d struct {
		Error   string
		Sandbox struct{ Tier, Reason string }
	}
	switch unreadable := json.Unmarshal(out, &d); {
	case unreadable != nil:
		t.Fatalf("doctor: %v: %v\n%s", unreadable, err, out)
	case d.Sandbox.Tier == tier:
	case kernelCould(tier, uid):
		t.Fatalf("the kernel could, but the tier %s is not given: %s %s", tier, d.Sandbox.Reason, d.Error)
	default:
		t.Skipf("no tier %s, the kernel does not give it: %s %s", tier, d.Sandbox.Reason, d.Error)
	}
}

func kernelCould(tier string, uid int) bool {
	if tier == landlockTier {
		_, err := landlock.Version()
		return err == nil
	}
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--mount", "--net", "--ipc", "--pid", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/tmp")
	cmd.SysProcAttr = credential(uid)
	return cmd.Run() == nil
}

// reachable is the program under test, where any user can run it.
func reachable(t *testing.T) string {
	t.Helper()
	path := tipstaffPath(t)
	if err := os.Chmod(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// serveAs runs a server as a user, in a workspace, and connects to it.
func serveAs(t *testing.T, uid int, workspace string, env []string) *server {
	t.Helper()
	srv := &server{t: t, workspace: workspace, stderr: &lockedBuffer{}}
	srv.cmd = exec.Command(reachable(t), "serve")
	srv.cmd.Dir, srv.cmd.Env, srv.cmd.Stderr, srv.cmd.SysProcAttr = workspace, env, srv.stderr, credential(uid)
	for _, kv := range env {
		if dir, ok := strings.CutPrefix(kv, "TIPSTAFF_STATE_DIR="); ok {
			srv.state = dir
		}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: srv.cmd, TerminateDuration: 5 * time.Second}, nil)
	if err != nil {
		t.Fatalf("cannot connect: %v\n%s", err, srv.stderr)
	}
	srv.session = session
	t.Cleanup(func() {
		_ = session.Close()
		if strings.Contains(srv.stderr.String(), "DATA RACE") {
			t.Errorf("the server raced:\n%s", srv.stderr)
		}
	})
	return srv
}

// wantTier checks what the trail says of how every command was confined.
func (s *server) wantTier(name string) {
	s.t.Helper()
	commands := 0
	for _, r := range s.records() {
		if r["event"] != "command.start" {
			continue
		}
		commands++
		if box, _ := r["sandbox"].(map[string]any); box["tier"] != name {
			s.t.Errorf("a command was recorded as confined by %v, not %s", r["sandbox"], name)
		}
	}
	if commands == 0 {
		s.t.Error("no command is on the record")
	}
}
