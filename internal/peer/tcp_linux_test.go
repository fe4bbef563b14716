package peer

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
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
	h := &Holders{}
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
