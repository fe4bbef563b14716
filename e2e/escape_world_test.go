//go:build escape && linux

package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/internal/testcmd/testcmdtest"
)

// The escape list: what a command may try to get out of its sandbox, E01 to E69,
// and what has to come of it, in each tier, as root and as an ordinary user. The
// same attempt by the same program without a sandbox is the control: it has to
// succeed, else nothing is shown and the test fails.
//
//	E01–E10, E13, E14  escape_files_test.go       files
//	E11, E12           escape_git_test.go         what git runs outside of the sandbox
//	E15, E16           escape_directory_test.go   the working directory
//	E20–E25            escape_processes_test.go   the server and others
//	E30–E33            escape_network_test.go     sockets
//	E34                escape_egress_test.go      a list of hosts
//	E40–E47            escape_kernel_test.go      namespaces, mounts, odd calls
//	E50–E53, E57, E61  escape_life_test.go        descriptors, daemons, bombs, the end
//	E55                escape_soak_test.go        nothing is left
//	E58                escape_limits_test.go      limits
//	E62, E63           escape_program_test.go     which program is run
//	E65–E67            escape_machine_test.go     old kernels, containers
//	E68                escape_neighbour_test.go   two commands at once
//
// Elsewhere: E54 in TestT3ACallAlwaysComesBack, E56 in
// TestT5MemoryStaysBoundedWhateverACommandPrints, E59 in TestEveryErrnoOfAStart-
// ComesBack (internal/proc) and TestAForkBombTakesNothingFromTheServer, E60 in
// TestStress (internal/proc), E64 in TestB11TheEnvironmentCarriesNoSecretsAndNo-
// Injections, E69 in internal/bench.

// Tiers, by the names that settings use, and none.
const (
	inNamespaces = "namespaces"
	byLandlock   = "landlock"
	notConfined  = "none"
)

// ordinary is the user beside root.
const ordinary = 1000

// world is a server of one tier and user, with a ground of its own that the
// user may do everything with.
type world struct {
	*server
	tier string
	uid  int
	dir  string
}

func (w *world) String() string {
	if w.tier == notConfined {
		return fmt.Sprintf("the control, as user %d", w.uid)
	}
	return fmt.Sprintf("%s, as user %d", w.tier, w.uid)
}

// habitat is what a test wants of its worlds.
type habitat struct {
	env      []string // of the server; {dir} is the world's ground
	confined []string // of servers with a sandbox; a list of hosts cannot be kept without one
	tiers    []string // nil: both
	furnish  func(t *testing.T, w *world)
	// inherited are files that whoever starts the server has left open for it.
	inherited []*os.File
}

// everywhere starts a server for each tier and user, and the controls, which
// come first.
func everywhere(t *testing.T, h habitat) []*world {
	t.Helper()
	if h.tiers == nil {
		h.tiers = []string{inNamespaces, byLandlock}
	}
	var all []*world
	confined := 0
	for _, tier := range append([]string{notConfined}, h.tiers...) {
		for _, uid := range inhabitants(t) {
			if why := kernelCannot(t, tier, uid); why != "" {
				t.Logf("no tier %s for user %d: %s", tier, uid, why)
				continue
			}
			all = append(all, settle(t, tier, uid, h))
			if tier != notConfined {
				confined++
			}
		}
	}
	if confined == 0 {
		t.Skipf("no tier: this kernel gives none of %v", h.tiers)
	}
	return all
}

// kernelCannot says why a tier cannot be had, whatever tipstaff does.
func kernelCannot(t *testing.T, tier string, uid int) string {
	t.Helper()
	contained(t)
	var c *exec.Cmd
	switch tier {
	case inNamespaces:
		c = exec.Command("unshare", "--user", "--map-root-user", "--mount", "--net", "--ipc", "--pid", "--fork", "mount", "-t", "tmpfs", "none", "/tmp")
	case byLandlock:
		c = exec.Command(ground(t)+"/bin/testcmd", "attempt", "landlock")
	default:
		return ""
	}
	c.SysProcAttr = as(uid)
	out, err := c.CombinedOutput()
	if tier == byLandlock && strings.Contains(string(out), `"ok":false`) {
		return "the kernel has no Landlock: " + string(out)
	}
	if err != nil {
		return fmt.Sprintf("%v: %s", err, out)
	}
	return ""
}

// TestEscapesAreTriedInEveryTierThatTheKernelGives fails where tipstaff alone is
// the reason why a tier was not tried.
func TestEscapesAreTriedInEveryTierThatTheKernelGives(t *testing.T) {
	contained(t)
	for _, tier := range []string{inNamespaces, byLandlock} {
		for _, uid := range inhabitants(t) {
			t.Run(fmt.Sprintf("%s, as user %d", tier, uid), func(t *testing.T) {
				if why := kernelCannot(t, tier, uid); why != "" {
					t.Skipf("no tier %s: %s", tier, why)
				}
				settle(t, tier, uid, habitat{})
			})
		}
	}
}

// inhabitants lists those who can be had.
func inhabitants(t *testing.T) []int {
	t.Helper()
	if !isRoot() {
		t.Logf("user %d alone: this root is only a user's own, and cannot become another", os.Getuid())
		return []int{os.Getuid()}
	}
	return []int{0, ordinary}
}

// isRoot reports whether this is the machine's root.
var isRoot = sync.OnceValue(func() bool {
	ids, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && os.Geteuid() == 0 && strings.Contains(string(ids), "4294967295")
})

// ground is a directory in memory for all worlds, with the programs in bin. It
// stands where the sandbox covers nothing, and goes with the namespaces of the
// tests.
func ground(t *testing.T) string {
	t.Helper()
	contained(t)
	grounds.once.Do(func() { grounds.err = makeGround("/srv", tipstaffPath(t), testcmdtest.Build(t), "/bin/true") })
	if grounds.err != nil {
		t.Fatal("there is no ground for escapes: ", grounds.err)
	}
	return "/srv"
}

var grounds struct {
	once sync.Once
	err  error
}

func makeGround(dir string, programs ...string) error {
	if err := syscall.Mount("none", dir, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	// Numbers of processes that do not come up in a young PID namespace.
	if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte("20000"), 0); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		return err
	}
	for _, from := range programs {
		name, _, _ := strings.Cut(filepath.Base(from), "-") // testcmd-123.exe
		if err := copyFile(from, filepath.Join(dir, "bin", name)); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// contained skips where an escape that succeeds would have the machine.
func contained(t *testing.T) {
	t.Helper()
	if os.Getenv("TIPSTAFF_TEST_CONTAINED") == "" {
		t.Skip("escapes are tried in a disposable PID namespace only, and none can be made here")
	}
}

var worldCount int

// settle makes the ground of a world and starts its server.
func settle(t *testing.T, tier string, uid int, h habitat) *world {
	t.Helper()
	w := prepareWorld(t, tier, uid, h)
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: w.cmd, TerminateDuration: 5 * time.Second}, nil)
	if err != nil {
		t.Fatalf("%v: cannot connect: %v\n%s", w, err, w.stderr)
	}
	w.session = session
	t.Cleanup(func() {
		_ = session.Close()
		if strings.Contains(w.stderr.String(), "DATA RACE") {
			t.Errorf("%v raced:\n%s", w, w.stderr)
		}
	})
	if got := w.tierOnRecord(t); got != tier {
		t.Fatalf("%v: commands run in the tier %q\n%s", w, got, w.stderr)
	}
	return w
}

// tierOnRecord runs a command and reads in its record how it was confined.
func (w *world) tierOnRecord(t *testing.T) string {
	t.Helper()
	w.on(t).command("true").ran()
	tier := ""
	for _, r := range w.records() {
		if sandbox, ok := r["sandbox"].(map[string]any); ok {
			tier = fmt.Sprint(sandbox["tier"])
		}
	}
	return tier
}

// prepareWorld makes the ground of a world and the command of its server.
func prepareWorld(t *testing.T, tier string, uid int, h habitat) *world {
	t.Helper()
	worldCount++
	w := &world{tier: tier, uid: uid, dir: filepath.Join(ground(t), strconv.Itoa(worldCount))}
	w.server = &server{t: t, workspace: filepath.Join(w.dir, "ws"), state: filepath.Join(w.dir, "state"), stderr: &lockedBuffer{}}
	t.Cleanup(func() { _ = os.RemoveAll(w.dir) })
	w.furnish(t)
	if h.furnish != nil {
		h.furnish(t, w)
	}
	w.own(t)
	w.cmd = exec.Command(filepath.Join(w.dir, "bin", "tipstaff"), "serve")
	w.cmd.Dir, w.cmd.Stderr = w.workspace, w.stderr
	w.cmd.SysProcAttr, w.cmd.ExtraFiles = as(uid), h.inherited
	w.cmd.Env = overlay([]string{
		"PATH=" + w.dir + "/bin:/usr/local/bin:/usr/bin:/bin", "HOME=" + w.dir + "/home", "LANG=C.UTF-8", "GORACE=atexit_sleep_ms=0",
		"ALLOWED_COMMANDS=*", "TIPSTAFF_STATE_DIR=" + w.state, "ENABLE_TERMINAL_ACCESS=true",
		"TERMINAL_ALLOWLIST_PATH=" + w.dir + "/home/tools-allow.json",
	}, h.env)
	defer w.nameGround()
	switch tier {
	case inNamespaces:
		w.cmd.Env = append(w.cmd.Env, append(h.confined, "TIPSTAFF_SANDBOX=require", "TIPSTAFF_SANDBOX_TIER=namespaces")...)
	case byLandlock:
		w.cmd.Env = append(w.cmd.Env, append(h.confined, "TIPSTAFF_SANDBOX=best-effort", "TIPSTAFF_SANDBOX_TIER=landlock")...)
	default:
		w.cmd.Env = append(w.cmd.Env, "TIPSTAFF_SANDBOX=off")
	}
	return w
}

// nameGround puts the ground of the world where settings speak of it.
func (w *world) nameGround() {
	for i, kv := range w.cmd.Env {
		w.cmd.Env[i] = strings.ReplaceAll(kv, "{dir}", w.dir)
	}
}

// as makes a process another user's.
func as(uid int) *syscall.SysProcAttr {
	if uid == os.Getuid() {
		return &syscall.SysProcAttr{Setpgid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
}

// secrets are files of the home that no command may read.
var secrets = []string{
	".ssh/id_ed25519", ".aws/credentials", ".gnupg/private-keys-v1.d/key", ".netrc", ".bash_history", ".config/gh/hosts.yml", ".git-credentials",
}

const secret = "a secret\n"

// furnish puts into the ground what every world has.
func (w *world) furnish(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll(w.path("bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, program := range map[string]string{"tipstaff": "tipstaff", "testcmd": "testcmd", "spare": "true"} {
		if err := os.Symlink(filepath.Join(ground(t), "bin", program), w.path("bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"ws", "out", "home", "state"} {
		if err := os.MkdirAll(w.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range secrets {
		w.put(t, filepath.Join("home", name), secret)
	}
	w.put(t, "home/.profile", "# nothing\n")
	w.put(t, "home/tools-allow.json", `["testcmd", "sh", "cat", "sleep"]`)
}

func (w *world) path(parts ...string) string {
	return filepath.Join(append([]string{w.dir}, parts...)...)
}

// put writes a file of the ground.
func (w *world) put(t *testing.T, name, content string) {
	t.Helper()
	path := w.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// own gives all of the ground to the user.
func (w *world) own(t *testing.T) {
	t.Helper()
	w.giveTo(t, w.dir)
}

func (w *world) giveTo(t *testing.T, dir string) {
	t.Helper()
	if w.uid == os.Getuid() {
		return
	}
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, w.uid, w.uid)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// on is the world's server, for a test of its own.
func (w *world) on(t *testing.T) *server {
	s := *w.server
	s.t = t
	return &s
}

// nonLoopback is an address of this machine that others could have; "" if it
// has none.
func nonLoopback() string {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	return ""
}
