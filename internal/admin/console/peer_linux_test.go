package console

import (
	"fmt"
	"net"
	"net/http"
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
