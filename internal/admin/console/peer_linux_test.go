package console

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// TestHelperAsks is no test: it is a process that others start, with a stolen cookie.
func TestHelperAsks(t *testing.T) {
	address := os.Getenv("CONSOLE_TEST_ADDRESS")
	if address == "" {
		t.Skip("started by another test")
	}
	conn, err := net.Dial(os.Getenv("CONSOLE_TEST_NETWORK"), address)
	if err != nil {
		fmt.Println("STATUS", err)
		return
	}
	fmt.Fprintf(conn, "GET /now HTTP/1.1\r\nHost: %s\r\nCookie: %s=%s\r\nConnection: close\r\n\r\n", os.Getenv("CONSOLE_TEST_HOST"), cookieName, os.Getenv("CONSOLE_TEST_COOKIE"))
	answer := make([]byte, 15)
	n, _ := conn.Read(answer)
	fmt.Printf("STATUS %s\n", answer[:n])
}

// asOther runs the helper with the cookie of a browser that is in.
func (c *testConsole) asOther(t *testing.T, program string, uid uint32) string {
	t.Helper()
	cookie := c.client.Jar.Cookies(must(url.Parse(c.origin)))[0].Value
	addr := c.opts.Listener.Addr()
	cmd := exec.Command(program, "-test.run=^TestHelperAsks$")
	cmd.Env = []string{"CONSOLE_TEST_NETWORK=" + addr.Network(), "CONSOLE_TEST_ADDRESS=" + addr.String(), "CONSOLE_TEST_HOST=" + strings.TrimPrefix(c.origin, "http://"), "CONSOLE_TEST_COOKIE=" + cookie}
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	_, status, ok := strings.Cut(string(out), "STATUS ")
	if !ok {
		t.Fatalf("%v\n%s", err, out)
	}
	status, _, _ = strings.Cut(status, "\n")
	return status
}

// copied is another file with this program, which other users may run.
func copied(t *testing.T) string {
	dir, err := os.MkdirTemp("/tmp", "console-test-") //nolint:usetesting // other users cannot reach a test's own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "helper")
	testcmdtest.WriteProgram(t, path, string(must(os.ReadFile("/proc/self/exe"))))
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAStolenCookieServesNeitherOtherUsersNorCommands(t *testing.T) {
	c := open(t, Options{Admin: &fakeAdmin{}}).in()
	if status, _ := c.get("/now"); status != http.StatusOK { // the control: the same cookie, from here
		t.Fatal(status)
	}
	if got := c.asOther(t, "/proc/self/exe", 0); !strings.Contains(got, "403") {
		t.Errorf("a process that this one has started: %s", got)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can start processes of other users")
	}
	if got := c.asOther(t, copied(t), 65534); !strings.Contains(got, "403") {
		t.Errorf("another user: %s", got)
	}
}

func TestTheTableOfSocketsIsRead(t *testing.T) {
	for text, want := range map[string]string{
		"0100007F:1F90":                         "127.0.0.1:8080",
		"00000000000000000000000001000000:0050": "[::1]:80",
		"0000000000000000FFFF00000100007F:0001": "127.0.0.1:1",
	} {
		if got := tableAddress(text); got != netip.MustParseAddrPort(want) {
			t.Errorf("%s: %s", text, got)
		}
	}
	for _, bad := range []string{"", "x", "0100007F", "01:1", "0100007F:99999"} {
		if got := tableAddress(bad); got.IsValid() {
			t.Errorf("%s: %s", bad, got)
		}
	}
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	conn := must(net.Dial("tcp", l.Addr().String()))
	ours := must(l.Accept())
	defer ours.Close()
	if s, err := findSocket(addrPortOf(ours.RemoteAddr()), addrPortOf(ours.LocalAddr())); err != nil || s.uid != os.Geteuid() {
		t.Errorf("%+v %v", s, err)
	} else if !hasOpen(os.Getpid(), "socket:["+s.inode+"]") || heldByCommand(s.inode) != nil {
		t.Errorf("%+v is held by this process, which is no command", s)
	}
	_ = conn.Close()
	if s, err := findSocket(addrPortOf(ours.RemoteAddr()), addrPortOf(ours.LocalAddr())); err == nil {
		t.Errorf("an end that is closed: %+v", s)
	}
}

// A process that has held a connection is known again by the next one, at little cost; one
// that a tipstaff has started is never among them, nor is a process that has its number.
func TestWhoHasHeldAConnectionIsKnownAgain(t *testing.T) {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	inode := func() string {
		conn, ours := must(net.Dial("tcp", l.Addr().String())), must(l.Accept())
		t.Cleanup(func() { _, _ = conn.Close(), ours.Close() })
		return must(findSocket(addrPortOf(ours.RemoteAddr()), addrPortOf(ours.LocalAddr()))).inode
	}
	one, other := inode(), inode()
	p, ok := holderOf(one)
	if !ok || p.pid != os.Getpid() || p.start == "" {
		t.Fatalf("this process holds it: %+v, %v", p, ok)
	}
	h := &holders{}
	if h.hold(one) {
		t.Error("nothing is known yet")
	}
	h.known = []process{p}
	if !h.hold(one) || !h.hold(other) || h.hold("1") {
		t.Error("control: this process holds both, and no other")
	}
	h.known = []process{{p.pid, p.start + "1"}}
	if h.hold(one) {
		t.Error("an earlier process with the same number is taken for this one")
	}
	if isCommand(os.Getpid()) {
		t.Error("this process is said to be a command")
	}
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if !isCommand(cmd.Process.Pid) {
		t.Error("what this process has started is said to be none")
	}
	h.known = []process{{cmd.Process.Pid, startOf(cmd.Process.Pid)}}
	if h.hold(one) {
		t.Error("a command is taken for a browser")
	}
}
