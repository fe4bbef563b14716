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

// Descriptors returns the number of open descriptors of this process, including
// the one that it opens to count them.
func Descriptors(t testing.TB) int { return entries(t, "/proc/self/fd") }

// Threads returns the number of threads of this process.
func Threads(t testing.TB) int { return entries(t, "/proc/self/task") }

// Children lists the children of this process, including those that have ended.
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

// HeapBytes returns the size of the heap in use after garbage collection.
func HeapBytes() int64 {
	runtime.GC()
	runtime.GC() // collects what the first run only finalized, or left in a pool
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Mappings returns the number of memory mappings of this process, including
// stacks.
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
