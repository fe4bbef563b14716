package console

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"tipstaff/internal/control"
)

// checkTCP finds the other end of a connection on loopback in the kernel's table
// of sockets: proc_pid_net(5). It refuses sockets of other users, those that
// belong to no process any more, and those that a command of tipstaff holds. A
// process whose descriptors cannot be read, because it is root's or does not let
// itself be traced, holds none that are known: there the cookie alone must do, as
// it must where the table cannot be read.
func checkTCP(c *net.TCPConn) error {
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
	for _, pid := range holders(end.inode) {
		if err := control.NoCommandBut(pid, func(ancestor int) bool { return passConsole(wordsOf(ancestor)) }); err != nil {
			return err
		}
	}
	return nil
}

func addrPortOf(a net.Addr) netip.AddrPort {
	t, ok := a.(*net.TCPAddr)
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

// findSocket looks for the socket with these addresses.
func findSocket(local, remote netip.AddrPort) (socket, error) {
	read := false
	for _, name := range []string{"tcp", "tcp6"} {
		data, err := os.ReadFile("/proc/self/net/" + name)
		if err != nil {
			continue
		}
		read = true
		for line := range bytes.Lines(data) {
			f := strings.Fields(string(line))
			if len(f) < 10 || tableAddress(f[1]) != local || tableAddress(f[2]) != remote {
				continue
			}
			uid, err := strconv.Atoi(f[7])
			if err != nil || f[9] == "0" {
				return socket{}, errNoOwner
			}
			return socket{uid, f[9]}, nil
		}
	}
	if !read {
		return socket{}, errNoTable
	}
	return socket{}, errNoOwner
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

// holders returns the processes that have a socket open, as far as their
// descriptors can be read.
func holders(inode string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	want := "socket:[" + inode + "]"
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && holds(pid, want) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func holds(pid int, want string) bool {
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
	for _, n := range names {
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
