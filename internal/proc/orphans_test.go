//go:build linux && (amd64 || arm64)

package proc

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestALongListOfChildrenIsReadToItsEnd: a server has a zygote for each of many
// sessions, more than the kernel lists in a page.
func TestALongListOfChildrenIsReadToItsEnd(t *testing.T) {
	e := newEngine(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := strconv.Itoa(unix.Gettid())
	o := &orphans{engine: e, children: e.orphans.children, main: thread}
	file, err := os.Open(filepath.Join(o.children, thread, "children"))
	if err != nil {
		t.Skip("this kernel lists no children: ", err)
	}
	defer file.Close()
	o.adopted = int(file.Fd())
	made := map[int]bool{}
	t.Cleanup(func() {
		for pid := range made {
			e.reapFirst(pid)
		}
	})
	for size := 0; size < 5<<10; size = len(fmt.Sprint(slices.Collect(maps.Keys(made)))) {
		z, err := func() (*zygote, error) {
			e.starting.RLock()
			defer e.starting.RUnlock()
			s := &childSteps{}
			s.add("die with the server", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL))
			return e.newZygote(s, -1)
		}()
		if err != nil {
			t.Fatal(err)
		}
		made[z.pid] = true
	}
	listed := o.ofMainThread()
	for pid := range made {
		if !slices.Contains(listed, pid) {
			t.Errorf("process %d is not among %d", pid, len(listed))
		}
	}
}
