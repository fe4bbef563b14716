//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tipstaff/internal/proc"
)

// TestWhereTheMachineCountsACommandGetsNotAll of its memory: a limit that is set counts,
// and where nothing counts, none is claimed.
func TestWhereTheMachineCountsACommandGetsNotAll(t *testing.T) {
	counts := proc.Bounds{Memory: true, Processes: true}
	if got, want := (ResourceLimits{}).group(counts).MemoryBytes, machineMemory()/4*3; got != want || got <= 0 {
		t.Errorf("without a setting it is %d, want %d", got, want)
	}
	if got := (ResourceLimits{MemoryBytes: 1 << 50}).group(counts).MemoryBytes; got != 1<<50 {
		t.Errorf("the setting counts: %d", got)
	}
	if got := (ResourceLimits{}).group(proc.Bounds{}); got != (proc.GroupLimits{}) {
		t.Errorf("nothing counts: %+v", got)
	}
	if got := (ResourceLimits{}).status(Namespaces, counts).Memory; !strings.Contains(got, "three quarters") {
		t.Errorf("doctor says %q", got)
	}
	if got := (ResourceLimits{}).status(Namespaces, proc.Bounds{}).Memory; got != "no limit" {
		t.Errorf("where nothing counts, doctor says %q", got)
	}
	if n := ProcessShare(); n <= 0 {
		t.Errorf("the share of processes is %d", n)
	}
}

// TestABoundOfAGroupAboveCounts: a container has less than its machine.
func TestABoundOfAGroupAboveCounts(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"proc/self/cgroup": "12:memory:/other\n0::/box/server\n", "sys/fs/cgroup/box/server/memory.max": "max\n", "sys/fs/cgroup/box/memory.max": "4000\n", "sys/fs/cgroup/other/memory.max": "4\n",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := groupBound(root, "memory.max"); got != 4000 {
		t.Errorf("memory.max is %d", got)
	}
	if got := groupBound(root, "pids.max"); got != 0 {
		t.Errorf("pids.max is %d, and there is none", got)
	}
}
