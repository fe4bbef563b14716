package testcmdtest

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// Descriptors counts what this process has open, the directory that is read for it
// among them.
func Descriptors(t testing.TB) int { return entries(t, "/proc/self/fd") }

// Threads counts the threads of this process.
func Threads(t testing.TB) int { return entries(t, "/proc/self/task") }

// Children lists the children of this process, whether they have ended or not.
func Children() []int {
	var pids []int
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, task := range tasks {
		data, _ := os.ReadFile(task) // a thread may have ended
		for f := range strings.FieldsSeq(string(data)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// HeapBytes is what is in use of the heap when what nobody holds is collected.
func HeapBytes() int64 {
	runtime.GC()
	runtime.GC() // what the first has only finalized, or left to a pool
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Mappings counts the mappings of this process's memory, stacks among them.
func Mappings(t testing.TB) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(maps, []byte("\n"))
}

func entries(t testing.TB, dir string) int {
	t.Helper()
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}
