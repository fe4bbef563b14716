//go:build linux && (amd64 || arm64)

package proc

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Every command carries a mark that its descendants inherit and cannot lose:
// its limit of real-time CPU (RLIMIT_RTTIME), which binds only programs with
// real-time priority, of which there are none here, and which nobody may
// raise. A descendant that leaves the process group, the session and its
// parents still has it. (It may lower it. That takes intent; a sandbox forbids
// the call.)

// mark is that of one command: bit 61, 39 bits of the server, 22 bits that
// count its commands. As a limit it is centuries of microseconds.
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

// command gives the mark of the n-th command. After four million of them the
// numbers come round; by then the first have long ended.
func (m serverMark) command(n uint64) mark { return mark(markBit | uint64(m) | n&(1<<counterBits-1)) }

// String names the server in files and control groups.
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

// markOf reads the mark of a process; 0 if there is none, or no such process.
func markOf(pid int) mark {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, rlimitRTTime, nil, &limit); err != nil || limit.Max == unix.RLIM_INFINITY || limit.Max&markBit == 0 {
		return 0
	}
	return mark(limit.Max)
}

// marked lists the processes that run with a mark for which match holds.
func marked(match func(mark) bool) []int {
	var found []int
	for _, pid := range processes() {
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

// running reports whether a process exists and has not ended: one that has is
// listed until its parent asks for it.
func running(pid int) bool {
	state, _, ok := stat(pid)
	return ok && state != 'Z' && state != 'X'
}

// stat reads the state and the parent of a process: proc_pid_stat(5).
func stat(pid int) (state byte, parent int, ok bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, false
	}
	return parseStat(data)
}
