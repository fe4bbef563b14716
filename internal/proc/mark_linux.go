//go:build linux && (amd64 || arm64)

package proc

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Every command carries a mark that its descendants inherit and cannot remove:
// its limit of real-time CPU time (RLIMIT_RTTIME). The limit constrains only
// programs with real-time priority, of which there are none here, and an
// unprivileged process cannot raise it. A descendant that leaves the process
// group, the session and its parents still has it. (A process can lower it.
// That takes intent, and the sandbox forbids the call.)

// mark is the mark of one command: bit 61, 39 bits of the server, 22 bits that
// count the server's commands. As a limit, it is centuries in microseconds.
type mark uint64

// serverMark is the part of the mark that all commands of a server share.
type serverMark uint64

const (
	markBit     = 1 << 61
	serverBits  = 39
	counterBits = 22
	serverMask  = (1<<serverBits - 1) << counterBits
)

func newServerMark() (serverMark, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("cannot make a mark for this server: %w", err)
	}
	return serverMark(binary.LittleEndian.Uint64(b[:]) & serverMask), nil
}

// command returns the mark of the n-th command. The numbers repeat after four
// million commands; the first ones have ended by then.
func (m serverMark) command(n uint64) mark { return mark(markBit | uint64(m) | n&(1<<counterBits-1)) }

// String is how files and control groups name the server.
func (m serverMark) String() string { return fmt.Sprintf("%010x", uint64(m)>>counterBits) }

func parseServerMark(s string) (serverMark, bool) {
	n, err := strconv.ParseUint(s, 16, serverBits+1)
	if err != nil || n >= 1<<serverBits || len(s) != 10 {
		return 0, false
	}
	return serverMark(n << counterBits), true
}

// of reports whether t is the mark of a command of m.
func (t mark) of(m serverMark) bool {
	return t&markBit != 0 && uint64(t)&serverMask == uint64(m)
}

// markOf reads the mark of a process; 0 if it has none or does not exist.
func markOf(pid int) mark {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, rlimitRTTime, nil, &limit); err != nil || limit.Max == unix.RLIM_INFINITY || limit.Max&markBit == 0 {
		return 0
	}
	return mark(limit.Max)
}

// marked lists the running processes whose mark satisfies match.
func marked(match func(mark) bool) []int { return markedAmong(processes(), match) }

func markedAmong(pids []int, match func(mark) bool) []int {
	var found []int
	for _, pid := range pids {
		if t := markOf(pid); t != 0 && match(t) && running(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// processes lists the ids of all processes.
func processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// running reports whether a process exists and has not ended: a process that
// has ended is listed until its parent reaps it.
func running(pid int) bool {
	state, _, ok := stat(pid)
	return ok && state != 'Z' && state != 'X'
}

// stat reads the state and the parent of a process: proc_pid_stat(5). Where that needs
// a descriptor or memory that is not to be had, a process that is there has state 0.
func stat(pid int) (state byte, parent int, ok bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH):
		return 0, 0, false
	case err != nil:
		return 0, 0, unix.Kill(pid, 0) == nil
	}
	return parseStat(data)
}
