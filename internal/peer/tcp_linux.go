package peer

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// TCP says why the other end of an accepted connection may not act here; nil: it may. It
// finds that end of a connection on loopback in the kernel's table
// of sockets: proc_pid_net(5). It refuses sockets of other users, those that
// belong to no process any more, and those that a command of tipstaff holds. A
// process whose descriptors cannot be read, because it is root's or does not let
// itself be traced, holds none that are known: there the cookie alone must do, as
// it must where the table cannot be read.
func TCP(c *net.TCPConn, h *Holders) error {
	local, remote := addrPortOf(c.LocalAddr()), addrPortOf(c.RemoteAddr())
	end, err := findSocket(remote, local)
	switch {
	case errors.Is(err, errNoTable):
		return nil
	case err != nil:
		return err
	case end.uid != 0 && end.uid != os.Geteuid():
		return fmt.Errorf("user %d has connected", end.uid)
	}
	if h.hold(end.inode) {
		return nil
	}
	err = heldByCommand(end.inode)
	if err == nil {
		h.learn(end.inode)
	}
	return err
}

func addrPortOf(a net.Addr) netip.AddrPort {
	t, ok := a.(interface{ AddrPort() netip.AddrPort })
	if !ok {
		return netip.AddrPort{}
	}
	ap := t.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// socket is one end of a connection.
type socket struct {
	uid   int
	inode string
}

var (
	errNoTable = errors.New("the kernel's table of sockets cannot be read")
	errNoOwner = errors.New("the other end belongs to no process")
)

// findSocket looks for the TCP socket with these addresses.
func findSocket(local, remote netip.AddrPort) (found socket, err error) {
	err = errNoOwner
	if read := eachSocket("tcp", func(at, to netip.AddrPort, _ string, s socket) {
		if at == local && to == remote && s.inode != "0" {
			found, err = s, nil
		}
	}); !read {
		return found, errNoTable
	}
	return found, err
}

// eachSocket reads the tables of a network, tcp or udp: proc_pid_net(5). state is a number
// of the kernel's in hexadecimal digits.
func eachSocket(network string, visit func(at, to netip.AddrPort, state string, s socket)) (read bool) {
	for _, name := range []string{network, network + "6"} {
		data, err := os.ReadFile("/proc/self/net/" + name)
		if err != nil {
			continue
		}
		read = true
		for line := range bytes.Lines(data) {
			f := strings.Fields(string(line))
			if len(f) < 10 {
				continue
			}
			if uid, err := strconv.Atoi(f[7]); err == nil {
				visit(tableAddress(f[1]), tableAddress(f[2]), f[3], socket{uid, f[9]})
			}
		}
	}
	return read
}

// tableAddress reads an address of the table: words of four bytes in the order of
// the machine, and a port in hexadecimal digits.
func tableAddress(s string) netip.AddrPort {
	host, port, _ := strings.Cut(s, ":")
	raw, err := hex.DecodeString(host)
	n, portErr := strconv.ParseUint(port, 16, 16)
	if err != nil || portErr != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	a, ok := netip.AddrFromSlice(raw)
	if !ok {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a.Unmap(), uint16(n))
}

// heldByCommand returns an error if what a tipstaff has started has a socket open.
// Servers are subreapers, so all their descendants stay below them in the process
// tree. What a console has started, the browser of --open, is no command; a console
// that a command has started is itself below the command's server. Only commands are
// looked into: to read the descriptors of all processes would take far longer.
func heldByCommand(inode string) error {
	self, err := os.Stat("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("cannot tell what commands there are: %w", err)
	}
	children, err := readTree()
	if err != nil {
		return fmt.Errorf("cannot tell what commands there are: %w", err)
	}
	want := socketName(inode)
	seen := map[int]bool{}
	var check func(pid int) error
	check = func(pid int) error {
		for _, child := range children[pid] {
			if seen[child] {
				continue
			}
			seen[child] = true
			if hasOpen(child, want) {
				return fmt.Errorf("process %d is a command of tipstaff", child)
			}
			if err := check(child); err != nil {
				return err
			}
		}
		return nil
	}
	for pid := range children {
		exe, err := os.Stat("/proc/" + strconv.Itoa(pid) + "/exe")
		if err != nil || !os.SameFile(self, exe) || isConsole(wordsOf(pid)) {
			continue
		}
		if err := check(pid); err != nil {
			return err
		}
	}
	return nil
}

// readTree returns the children of every process that has any: proc_pid_stat(5).
func readTree() (map[int][]int, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		f := statOf(pid)
		if len(f) < 2 {
			continue // it has ended
		}
		if parent, err := strconv.Atoi(f[1]); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	return children, nil
}

func hasOpen(pid int, want string) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd/"
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil && len(names) == 0 {
		return false
	}
	for _, n := range slices.Backward(names) { // a new one is mostly the last
		if to, err := os.Readlink(dir + n); err == nil && to == want {
			return true
		}
	}
	return false
}

// wordsOf returns the command line of a process.
func wordsOf(pid int) []string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}

// isConsole reports whether a command line is that of a console, which starts no
// commands.
func isConsole(words []string) bool { return len(words) > 1 && words[1] == "console" }
