//go:build unix && !race

package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tipstaff/e2e/kit"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// Two policies that decide differently about echo, and some that cannot be
// used.
const (
	allowsEcho = "version: 1\ncommands:\n  echo: {allow: [\"*\"]}\n  cat: {allow: [\"*\"]}\n"
	deniesEcho = "version: 1\ncommands:\n  echo: {allow: [hello], deny: [\"*\"], why: Say it in a file.}\n  cat: {allow: [\"*\"]}\n"
	failsTests = deniesEcho + "tests:\n  - {run: echo hi, expect: allow}\n"
	unreadable = "version: 1\ncomands:\n  echo: {allow: [\"*\"]}\n"
)

// governed is a server with a policy file.
type governed struct {
	*kit.Server
	path string
}

// govern starts a server whose only rules are those of a policy file.
func govern(t *testing.T, path string) *governed {
	t.Helper()
	s := prepare(t, setup{env: []string{"ALLOWED_COMMANDS=", "TERMINAL_ALLOWLIST_PATH=", "TIPSTAFF_CONFIG=" + path}})
	s.Connect()
	return &governed{s, path}
}

// reloads returns what the record says about reloads of the policy file.
func (g *governed) reloads() []map[string]any {
	var out []map[string]any
	for _, r := range g.Records() {
		if p, ok := r["policy"].(map[string]any); ok && r["event"] == "policy.reload" {
			out = append(out, p)
		}
	}
	return out
}

// wantReload waits for reload number n, from 1, and checks its outcome.
func (g *governed) wantReload(n int, outcome string) map[string]any {
	g.T.Helper()
	kit.Eventually(g.T, fmt.Sprintf("reload %d", n), func() bool { return len(g.reloads()) >= n }, g.Stderr.String)
	got := g.reloads()[n-1]
	if got["outcome"] != outcome {
		g.T.Fatalf("reload %d is %v, want %s\n%s", n, got, outcome, g.Stderr)
	}
	return got
}

func (g *governed) wantEcho(allowed bool) {
	g.T.Helper()
	r := g.Command("echo hi")
	if r.IsError == allowed {
		g.T.Fatalf("echo hi: %s", r.Text)
	}
	if !allowed && (!strings.Contains(r.Text, "Say it in a file.") || !strings.Contains(r.Text, "echo hello")) {
		g.T.Errorf("the refusal gives neither the operator's reason nor the nearest form:\n%s", r.Text)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// TestAChangedPolicyDecidesFromTheNextCommandOn for every way of changing it,
// with and without a signal.
func TestAChangedPolicyDecidesFromTheNextCommandOn(t *testing.T) {
	testcmdtest.Long(t)
	t.Parallel()
	for _, c := range []struct {
		name   string
		make   func(t *testing.T, dir string) (path string, swap func(text string))
		signal bool
	}{
		{"written in place", func(t *testing.T, dir string) (string, func(string)) {
			write(t, dir+"/p.yaml", allowsEcho)
			return dir + "/p.yaml", func(text string) { write(t, dir+"/p.yaml", text) }
		}, false},
		{"renamed into place", func(t *testing.T, dir string) (string, func(string)) {
			write(t, dir+"/p.yaml", allowsEcho)
			return dir + "/p.yaml", func(text string) {
				write(t, dir+"/.p.yaml.swp", text)
				rename(t, dir+"/.p.yaml.swp", dir+"/p.yaml")
			}
		}, false},
		{"as a ConfigMap is, by a link in the middle", func(t *testing.T, dir string) (string, func(string)) {
			write(t, dir+"/..v0/p.yaml", allowsEcho)
			symlink(t, "..v0", dir+"/..data")
			symlink(t, "..data/p.yaml", dir+"/p.yaml")
			n := 0
			return dir + "/p.yaml", func(text string) {
				n++
				v := fmt.Sprintf("..v%d", n)
				write(t, filepath.Join(dir, v, "p.yaml"), text)
				symlink(t, v, dir+"/..data_tmp")
				rename(t, dir+"/..data_tmp", dir+"/..data")
			}
		}, false},
		{"what it extends", func(t *testing.T, dir string) (string, func(string)) {
			write(t, dir+"/list.json", `["echo", "cat"]`)
			write(t, dir+"/p.yaml", "extends: [list.json]\n"+allowsEcho)
			return dir + "/p.yaml", func(text string) {
				list := `["echo", "cat"]`
				if text == deniesEcho {
					list = `["cat"]`
				}
				write(t, dir+"/list.json", list)
			}
		}, false},
		{"with a signal", func(t *testing.T, dir string) (string, func(string)) {
			write(t, dir+"/p.yaml", allowsEcho)
			return dir + "/p.yaml", func(text string) { write(t, dir+"/p.yaml", text) }
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path, swap := c.make(t, canonical(t, t.TempDir()))
			g := govern(t, path)
			g.wantEcho(true)
			for i, text := range []string{deniesEcho, allowsEcho} {
				swap(text)
				if c.signal {
					if err := g.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
						t.Fatal(err)
					}
				}
				p := g.wantReload(i+1, "loaded")
				if p["sha256"] == p["old_sha256"] || p["file"] != path || c.signal != (p["trigger"] == "signal") {
					t.Errorf("recorded as %v", p)
				}
				r := g.Command("echo hi")
				if r.IsError != (text == deniesEcho) {
					t.Errorf("after %v: %s", p, r.Text)
				}
			}
			records := g.Records()
			digests := map[any]bool{}
			for _, r := range records {
				if d, ok := r["decision"].(map[string]any); ok {
					digests[d["policy_sha256"]] = true
				}
			}
			if len(digests) != 2 {
				t.Errorf("the decisions name %d policies, want 2", len(digests))
			}
		})
	}
}

func symlink(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// TestAPolicyThatCannotBeUsedLeavesTheLastGoodOne, and is reported once.
func TestAPolicyThatCannotBeUsedLeavesTheLastGoodOne(t *testing.T) {
	testcmdtest.Long(t)
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, path string)
		say   string
	}{
		{"a key that nobody knows", func(t *testing.T, path string) { write(t, path, unreadable) }, "comands"},
		{"tests of its own that fail", func(t *testing.T, path string) { write(t, path, failsTests) }, "1 of its tests fail"},
		{"a file that others can write", func(t *testing.T, path string) {
			if err := os.Chmod(path, 0o666); err != nil {
				t.Fatal(err)
			}
		}, "can be written by others"},
		{"no file", func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(canonical(t, t.TempDir()), "p.yaml")
			write(t, path, deniesEcho)
			g := govern(t, path)
			c.spoil(t, path)
			p := g.wantReload(1, "refused")
			if p["old_sha256"] == nil || p["trigger"] != "change" {
				t.Errorf("recorded as %v", p)
			}
			g.wantEcho(false)
			if err := g.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			g.wantReload(2, "refused") // a person who asks is told again
			const told = "the policy file cannot be used; the last good one goes on deciding"
			kit.Eventually(t, "the log says so", func() bool { return strings.Contains(g.Stderr.String(), told) })
			if log := g.Stderr.String(); strings.Count(log, told) != 1 || !strings.Contains(log, c.say) {
				t.Errorf("the log says so %d times:\n%s", strings.Count(log, told), log)
			}
			g.doctorSays(t, func(d doctored) bool {
				return strings.Contains(d.Policy.Error, c.say) && len(d.Policy.Servers) == 1 && strings.Contains(d.Policy.Servers[0].Refused, c.say)
			})
			put(t, path, []byte(deniesEcho)) // at once: no file would be another fault
			g.wantReload(3, "unchanged")
			g.wantEcho(false)
			g.doctorSays(t, func(d doctored) bool {
				return d.Policy.Error == "" && len(d.Policy.Servers) == 1 && d.Policy.Servers[0].Refused == "" && d.Policy.Servers[0].SHA256 == d.Policy.SHA256
			})
		})
	}
}

// doctored is the output of doctor about the policy.
type doctored struct {
	Policy struct {
		SHA256, Error string
		Servers       []struct{ SHA256, Refused string }
	}
}

func (g *governed) doctorSays(t *testing.T, right func(doctored) bool) {
	t.Helper()
	cmd := exec.Command(kit.Path(t), "doctor", "--json")
	cmd.Env, cmd.Dir = g.Cmd.Env, g.Workspace
	out, _ := cmd.Output() // 3 when the policy cannot be used
	var d doctored
	if err := json.Unmarshal(out, &d); err != nil || !right(d) {
		t.Errorf("doctor: %v, %+v", err, d.Policy)
	}
}

// TestACommandInFlightKeepsWhatItWasGranted under a policy that is no longer in
// force.
func TestACommandInFlightKeepsWhatItWasGranted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(canonical(t, t.TempDir()), "p.yaml")
	write(t, path, allowsEcho)
	g := govern(t, path)
	pipe := filepath.Join(g.Workspace, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	answer := make(chan kit.Reply, 1)
	go func() { answer <- g.Command("cat pipe") }()
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // blocks until cat has opened it
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "version: 1\ncommands: {echo: {allow: [\"*\"]}}\n")
	g.wantReload(1, "loaded")
	if r := g.Command("cat pipe"); !r.IsError {
		t.Errorf("the new policy does not know cat: %s", r.Text)
	}
	if _, err := writer.WriteString("to the end\n"); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if r := <-answer; r.IsError || !strings.Contains(r.Text, "to the end") {
		t.Errorf("the command that ran: %s", r.Text)
	}
}

// TestWithoutAPolicyFileSIGHUPEndsTheServer as it ends every program.
func TestWithoutAPolicyFileSIGHUPEndsTheServer(t *testing.T) {
	t.Parallel()
	s := prepare(t, setup{})
	r := kit.StartRaw(t, s.Cmd)
	r.Initialize()
	if err := s.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	within(t, "the end of the server", func() { _ = s.Cmd.Wait() })
	if last := s.Records()[len(s.Records())-1]; last["event"] != "server.stop" {
		t.Errorf("the last record is %v", last["event"])
	}
}

// TestSIGHUPEndsNoServerOverHTTP: it reads the policy file again, if there is one.
func TestSIGHUPEndsNoServerOverHTTP(t *testing.T) {
	t.Parallel()
	path := filepath.Join(canonical(t, t.TempDir()), "p.yaml")
	write(t, path, allowsEcho)
	w := serveHTTP(t, setup{env: []string{"ALLOWED_COMMANDS=", "TERMINAL_ALLOWLIST_PATH=", "TIPSTAFF_CONFIG=" + path}})
	g := &governed{w.Server, path}
	write(t, path, unreadable)
	for n := 1; n <= 2; n++ {
		if err := w.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		g.wantReload(n, "refused")
	}
	if resp, body := w.fetch("GET", "/readyz", "", ""); resp.StatusCode != 200 || !strings.Contains(body, "cannot be used") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, body := w.fetch("GET", "/metrics", master, ""); resp.StatusCode != 200 || !strings.Contains(body, "tipstaff_policy_file_refused 1") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	without := serveHTTP(t, setup{})
	if err := without.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, "the log says that there is none", func() bool { return strings.Contains(without.Stderr.String(), "there is none") })
	if resp, _ := without.fetch("GET", "/readyz", "", ""); resp.StatusCode != 200 {
		t.Errorf("%d", resp.StatusCode)
	}
}

// TestWhoseThePolicyFileIsCounts: files of root and of the server's own user
// are accepted.
func TestWhoseThePolicyFileIsCounts(t *testing.T) {
	t.Parallel()
	if !kit.MachinesRoot() {
		t.Skip("only the machine's root can be everybody")
	}
	base, err := os.MkdirTemp("", "tipstaff-owners-") //nolint:usetesting // every user has to reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(base, "p.yaml")
	write(t, path, allowsEcho)
	for _, c := range []struct {
		owner, server int
		good          bool
	}{{0, 0, true}, {kit.Ordinary, 0, false}, {0, kit.Ordinary, true}, {kit.Ordinary, kit.Ordinary, true}, {kit.Ordinary + 1, kit.Ordinary, false}} {
		t.Run(fmt.Sprintf("user %d's for user %d", c.owner, c.server), func(t *testing.T) {
			if err := os.Chown(path, c.owner, c.owner); err != nil {
				t.Fatal(err)
			}
			state := t.TempDir() // not made: check stores nothing
			cmd := exec.Command(kit.Path(t), "policy", "check", path)
			cmd.Env, cmd.Dir, cmd.SysProcAttr = []string{"HOME=" + base, "PATH=/usr/bin:/bin", "TIPSTAFF_STATE_DIR=" + state}, base, kit.As(c.server)
			out, err := cmd.CombinedOutput()
			if (err == nil) != c.good || !c.good && (kit.ExitCode(err) != "3" || !strings.Contains(string(out), "belongs to another user")) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestAnOwnerWithoutAMappingCountsAsRoot: in a rootless container, what lies
// outside of its users belongs to user 65534, whom no process in it can be.
func TestAnOwnerWithoutAMappingCountsAsRoot(t *testing.T) {
	if !kit.MachinesRoot() {
		t.Skip("only the machine's root can give files away; as another user, every test with a policy file is in such a namespace")
	}
	if err := exec.Command("unshare", "--user", "--map-root-user", "true").Run(); err != nil {
		t.Skip("no user namespaces can be made here: ", err)
	}
	dir := canonical(t, t.TempDir())
	path := filepath.Join(dir, "p.yaml")
	write(t, path, allowsEcho)
	if err := os.Chown(path, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	check := func(mode fs.FileMode, command ...string) (string, error) {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(command[0], append(command[1:], kit.Path(t), "policy", "check", path)...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + dir, "TIPSTAFF_STATE_DIR=" + dir + "/state"}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := check(0o644, "env"); err == nil || !strings.Contains(out, "belongs to another user (4711)") {
		t.Errorf("where the user exists: %v\n%s", err, out)
	}
	if out, err := check(0o644, "unshare", "--user", "--map-root-user"); err != nil {
		t.Errorf("where the user is not mapped: %v\n%s", err, out)
	}
	if out, err := check(0o664, "unshare", "--user", "--map-root-user"); err == nil || !strings.Contains(out, "can be written by others (0664)") {
		t.Errorf("where others may write: %v\n%s", err, out)
	}
}

// TestAnOpenDirectoryIsGoodWhereNobodyCanWrite: a ConfigMap is mounted
// read-only with mode 0777.
func TestAnOpenDirectoryIsGoodWhereNobodyCanWrite(t *testing.T) {
	if err := exec.Command("unshare", "-m", "true").Run(); err != nil {
		t.Skip("no mounts can be made here: ", err)
	}
	dir := canonical(t, t.TempDir())
	const script = `mount -t tmpfs -o mode=0777 x . && cd "$PWD" && printf '%s' "$2" > p.yaml && chmod 644 p.yaml || exit 99
"$1" policy check p.yaml && exit 98
mount -o remount,ro x . || exit 99
exec "$1" policy check p.yaml`
	cmd := exec.Command("unshare", "-m", "sh", "-c", script, "sh", kit.Path(t), allowsEcho)
	cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + dir, "TIPSTAFF_STATE_DIR=" + dir + "/state"}
	out, err := cmd.CombinedOutput()
	if err != nil && kit.ExitCode(err) == "99" {
		t.Skipf("no mounts can be made here: %s", out)
	}
	if err != nil || !strings.Contains(string(out), "can be written by others (0777)") || !strings.Contains(string(out), "a server would take it") {
		t.Errorf("%v\n%s", err, out)
	}
}
