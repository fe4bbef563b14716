//go:build unix

package main

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// alive counts those of the processes that still run. One that has ended and
// that nobody has asked about yet (a zombie) does not run any more.
func alive(pids []string) int {
	n := 0
	for _, s := range pids {
		pid, err := strconv.Atoi(s)
		if err == nil && pid > 1 && syscall.Kill(pid, 0) == nil && !zombie(s) {
			n++
		}
	}
	return n
}

// zombie reads the state that stands behind the name in /proc/PID/stat.
func zombie(pid string) bool {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	i := bytes.LastIndexByte(data, ')')
	return err == nil && i >= 0 && bytes.HasPrefix(data[i:], []byte(") Z"))
}
