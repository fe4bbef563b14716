//go:build linux && (amd64 || arm64)

package proc

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Listens reports whether a process of the command accepts connections at a TCP port,
// in the network that it sees. A socket of another program does not count, even in the
// same network. It may be called beside all other methods.
func (p *Process) Listens(port uint16) (bool, error) {
	pids, done := p.reached()
	defer done()
	known := map[string]map[string]bool{} // by network namespace
	for _, pid := range pids {
		dir := "/proc/" + strconv.Itoa(pid)
		space, err := os.Readlink(dir + "/ns/net")
		if err != nil {
			continue // it has ended
		}
		sockets, looked := known[space]
		if !looked {
			if sockets, err = listeners(dir+"/net", port); err != nil && running(pid) {
				return false, err
			}
			known[space] = sockets
		}
		if len(sockets) > 0 && holds(dir+"/fd", sockets) {
			return true, nil
		}
	}
	return false, nil
}

// listeners returns the sockets that listen at a port, in the form of the links in
// /proc/PID/fd: proc_pid_net(5).
func listeners(dir string, port uint16) (map[string]bool, error) {
	found := map[string]bool{}
	end := fmt.Sprintf(":%04X", port)
	for _, name := range []string{"tcp", "tcp6"} {
		f, err := os.Open(dir + "/" + name)
		if os.IsNotExist(err) {
			continue // without IPv6
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read which ports are listened at: %w", err)
		}
		const local, state, inode, listening = 1, 3, 9, "0A"
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if !strings.Contains(lines.Text(), end) {
				continue
			}
			if c := strings.Fields(lines.Text()); len(c) > inode && c[state] == listening && strings.HasSuffix(c[local], end) {
				found["socket:["+c[inode]+"]"] = true
			}
		}
		_ = f.Close()
	}
	return found, nil
}

// holds reports whether a process has one of some files open.
func holds(dir string, files map[string]bool) bool {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if link, err := os.Readlink(dir + "/" + e.Name()); err == nil && files[link] {
			return true
		}
	}
	return false
}
