package peer

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Holders remembers which processes have held connections that were let through: the
// browser, mostly, which makes a new one for each page. To look into all commands takes
// 70 ms of a processor where 200 sessions are; to look whether the browser holds a socket
// takes one. The socket of a browser is held by no command as well: browsers hand none
// out, and a command that could take one from a browser could do all that the browser can.
//
// The zero value knows none.
type Holders struct {
	mu    sync.Mutex
	known []process // the latest first
	busy  bool
	last  time.Time // when the last search began
}

// process is one process, and no later one with the same number.
type process struct {
	pid   int
	start string // as /proc/PID/stat has it
}

// mostHolders is how many browsers and forwarders are remembered.
const mostHolders = 8

// hold reports whether a process that is known has a socket open, and is no command now.
func (h *Holders) hold(inode string) bool {
	h.mu.Lock()
	known := slices.Clone(h.known)
	h.mu.Unlock()
	for _, p := range known {
		if hasOpen(p.pid, socketName(inode)) && !isCommand(p.pid) && startOf(p.pid) == p.start {
			return true
		}
	}
	return false
}

// learn looks for the holder of a socket, which no command has open, beside the answer.
func (h *Holders) learn(inode string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy || time.Since(h.last) < learnEvery {
		return
	}
	h.busy, h.last = true, time.Now()
	go func() { // ends when it has looked at all processes
		p, ok := holderOf(inode)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.busy = false
		if ok {
			h.add(p)
		}
	}()
}

// remember adds a process that is no command.
func (h *Holders) remember(p process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(p)
}

// add is remember for a caller that holds h.mu.
func (h *Holders) add(p process) {
	if slices.Contains(h.known, p) {
		return
	}
	h.known = slices.Insert(h.known, 0, p)
	h.known = h.known[:min(len(h.known), mostHolders)]
}

// learnEvery is the least time between two searches: some holders are never found, because
// they let nobody read what they have open.
const learnEvery = 2 * time.Second

func socketName(inode string) string { return "socket:[" + inode + "]" }

// holderOf finds a process that has a socket open and is no command. Those whose
// descriptors cannot be read are not found.
func holderOf(inode string) (process, bool) {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return process{}, false
	}
	for _, name := range slices.Backward(names) {
		pid, err := strconv.Atoi(name.Name())
		if err != nil {
			continue
		}
		start := startOf(pid)
		if start != "" && hasOpen(pid, socketName(inode)) && !isCommand(pid) && startOf(pid) == start {
			return process{pid, start}, true
		}
	}
	return process{}, false
}

// startOf returns when a process was started: proc_pid_stat(5); "" if it is gone.
func startOf(pid int) string {
	const start = 20 // the fields after the name, from 1
	if f := statOf(pid); len(f) >= start {
		return f[start-1]
	}
	return ""
}

// statOf returns the fields of a process after its name.
func statOf(pid int) []string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	// The name in parentheses may hold anything, parentheses included.
	return strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
}

// isCommand reports whether a tipstaff that is no console is above a process, or that
// this cannot be told; see heldByCommand.
func isCommand(pid int) bool {
	self, err := os.Stat("/proc/self/exe")
	if err != nil {
		return true
	}
	const deepest = 256
	for range deepest {
		f := statOf(pid)
		if len(f) < 2 {
			return true
		}
		parent, err := strconv.Atoi(f[1])
		switch {
		case err != nil:
			return true
		case parent == 0:
			return false
		}
		if exe, err := os.Stat("/proc/" + strconv.Itoa(parent) + "/exe"); err == nil && os.SameFile(self, exe) && !isConsole(wordsOf(parent)) {
			return true
		}
		pid = parent
	}
	return true
}
