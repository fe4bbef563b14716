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

// Every command carries a tag that its descendants inherit and cannot remove: its limit
// of real-time CPU time (RLIMIT_RTTIME). The limit constrains only programs with
// real-time priority, of which there are none here, and an unprivileged process cannot
// raise it. A descendant that leaves the process group, the session and its parents
// still has the tag. A process can lower its limit and so lose the tag, but not by
// accident, and the sandbox forbids the call. Messages call the tag a mark.

// descendantTag is the tag of one command: bit 61, 39 bits of the server, 22 bits that
// count the server's commands. As a limit, it is centuries in microseconds.
type descendantTag uint64

// serverTag is the part of the tag that all commands of a server share.
type serverTag uint64

const (
	tagBit      = 1 << 61
	serverBits  = 39
	counterBits = 22
	serverMask  = (1<<serverBits - 1) << counterBits
)

func newServerTag() (serverTag, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("cannot make a mark for this server: %w", err)
	}
	return serverTag(binary.LittleEndian.Uint64(b[:]) & serverMask), nil
}

// command returns the tag of the n-th command. The numbers repeat after four
// million commands; the first ones have ended by then.
func (m serverTag) command(n uint64) descendantTag {
	return descendantTag(tagBit | uint64(m) | n&(1<<counterBits-1))
}

// String is how files and control groups name the server.
func (m serverTag) String() string { return fmt.Sprintf("%010x", uint64(m)>>counterBits) }

// parseServerTag parses what String returns. It accepts no other text, because the
// names of files and control groups decide which processes are killed.
func parseServerTag(s string) (serverTag, bool) {
	n, err := strconv.ParseUint(s, 16, serverBits+1)
	if err != nil || n >= 1<<serverBits || len(s) != 10 {
		return 0, false
	}
	return serverTag(n << counterBits), true
}

// of reports whether t is the tag of a command of m.
func (t descendantTag) of(m serverTag) bool {
	return t&tagBit != 0 && uint64(t)&serverMask == uint64(m)
}

// tagOf reads the tag of a process; 0 if it has none or does not exist.
func tagOf(pid int) descendantTag {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, rlimitRTTime, nil, &limit); err != nil || limit.Max == unix.RLIM_INFINITY || limit.Max&tagBit == 0 {
		return 0
	}
	return descendantTag(limit.Max)
}

// tagged lists the running processes whose tag satisfies match. It reads all of /proc,
// so it is the last means to find the processes of a command.
func tagged(match func(descendantTag) bool) []int { return taggedAmong(processes(), match) }

// taggedAmong is tagged for the given processes.
func taggedAmong(pids []int, match func(descendantTag) bool) []int {
	var found []int
	for _, pid := range pids {
		if t := tagOf(pid); t != 0 && match(t) && running(pid) {
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

// stat reads the state and the parent of a process: proc_pid_stat(5). ok is false only
// if the process is certainly gone. If the server lacks a descriptor or memory to read
// the file, a process that exists has state 0, so that it is not taken for one that has
// ended.
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
