//go:build linux && !race

package faults

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// lan is a bridge in the namespace of the test, to which machines are wired.
type lan struct{ t *testing.T }

// newLAN makes the bridge. The test has an address at it, too: agents are here.
func newLAN(t *testing.T) *lan {
	t.Helper()
	l := &lan{t}
	for _, line := range []string{
		"link set lo up",
		"link add br0 type bridge stp_state 0 forward_delay 0",
		"addr add 10.77.0.254/24 dev br0",
		"link set br0 up",
	} {
		l.ip(line)
	}
	must(t, os.MkdirAll("/run/netns", 0o755))
	must(t, unix.Mount("faults", "/run/netns", "tmpfs", 0, "size=1m"))
	t.Cleanup(func() { _ = unix.Unmount("/run/netns", unix.MNT_DETACH); l.ip("link del br0") })
	return l
}

// ip runs a line of iproute2 in the namespace of the test.
func (l *lan) ip(line string) {
	l.t.Helper()
	if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
		l.t.Fatalf("ip %s: %v\n%s", line, err, out)
	}
}

// machine is a network namespace with one wire to the bridge.
type machine struct {
	lan        *lan
	name, addr string
}

// machine makes one. Its name is that of its end of the wire as well.
func (l *lan) machine(name string, number int) *machine {
	l.t.Helper()
	m := &machine{l, name, fmt.Sprintf("10.77.0.%d", number)}
	mac := fmt.Sprintf("02:00:00:00:00:%02x", number)
	for _, line := range []string{
		"netns add " + name,
		"link add " + m.wire() + " type veth peer name eth0 address " + mac + " netns " + name,
		"link set " + m.wire() + " master br0 up",
		"-n " + name + " link set lo up",
		"-n " + name + " addr add " + m.addr + "/24 dev eth0",
		"-n " + name + " link set eth0 up",
	} {
		l.ip(line)
	}
	// The wire first: a namespace ends when the kernel comes to it, and its wire with it.
	l.t.Cleanup(func() { l.ip("link del " + m.wire()); l.ip("netns del " + name) })
	return m
}

func (m *machine) wire() string { return "v-" + m.name }

// unplug takes the wire out of the switch: both ends see that it is dead.
func (m *machine) unplug() { m.lan.ip("link set " + m.wire() + " down") }

func (m *machine) plug() { m.lan.ip("link set " + m.wire() + " up") }

// deafen loses, without a word to anyone, what this machine sends to another:
// frames go to an address of hardware that no machine has. What the other sends
// still arrives, so this is a loss in one direction.
func (m *machine) deafen(to *machine) {
	m.lan.ip("-n " + m.name + " neigh replace " + to.addr + " lladdr 02:00:00:00:ff:ff dev eth0 nud permanent")
}

// hear ends what deafen began.
func (m *machine) hear(to *machine) {
	m.lan.ip("-n " + m.name + " neigh del " + to.addr + " dev eth0")
}

// cut loses everything between this machine and others; the rest of the network
// reaches them all.
func (m *machine) cut(others ...*machine) {
	for _, o := range others {
		m.deafen(o)
		o.deafen(m)
	}
}

func (m *machine) mend(others ...*machine) {
	for _, o := range others {
		m.hear(o)
		o.hear(m)
	}
}

// start starts a command in the namespace. A process is in the network namespace
// of the thread that made it, so the thread goes there, and is given up if it
// cannot come back.
func (m *machine) start(cmd *exec.Cmd) error {
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		here, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			failed <- err
			return
		}
		defer func() { _ = here.Close() }()
		there, err := os.Open("/run/netns/" + m.name)
		if err != nil {
			failed <- err
			return
		}
		defer func() { _ = there.Close() }()
		if err := unix.Setns(int(there.Fd()), syscall.CLONE_NEWNET); err != nil {
			failed <- err
			return
		}
		err = cmd.Start()
		if unix.Setns(int(here.Fd()), syscall.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
		failed <- err
	}()
	return <-failed
}
