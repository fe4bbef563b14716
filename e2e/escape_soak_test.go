//go:build escape && linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestEscapeE55TenThousandCommandsLeaveNothing: a quarter of them in each world.
// Most do nothing, some leave processes behind, some are ended, some have a
// session of their own.
func TestEscapeE55TenThousandCommandsLeaveNothing(t *testing.T) {
	total := 10_000
	if testing.Short() || raceEnabled {
		total = 500
	}
	worlds := confinedOnly(everywhere(t, habitat{env: []string{"TMPDIR={dir}/tmp", "TIPSTAFF_MAX_CONCURRENT=8"}, furnish: withTemp}))
	for _, w := range worlds {
		t.Run("E55 "+w.String(), func(t *testing.T) {
			m := newMark(t)
			w.busy(t, m, 300)
			before := w.holdings(t)
			w.busy(t, m, total/len(worlds))
			var after holdings
			eventually(t, "the server has no more than before", func() bool {
				after = w.holdings(t)
				return !after.beyond(before, 24)
			}, func() string { return fmt.Sprintf("before: %v\nafter:  %v", before, after) })
			m.wantNone(t, soon)
			w.endsWithNothing(t)
		})
	}
}

// busy runs commands, eight at a time.
func (w *world) busy(t *testing.T, m mark, n int) {
	t.Helper()
	s := w.on(t)
	todo := make(chan int)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range todo {
				switch i % 50 {
				case 7:
					s.process("sh", m.inEnvironment("setsid sleep 50 & (sleep 50 &) echo left > $TMPDIR/left"))
				case 17:
					s.process("sh", m.inEnvironment("setsid sleep 50 & sleep 50"), args{"timeout_ms": 20})
				case 27:
					id := s.newSession(args{"taskId": fmt.Sprint("T-", i)})
					s.inSession(id, "testcmd", []string{"exit", "0"})
					s.call("terminal_close_session", args{"sessionId": id})
				default:
					s.process("true", nil)
				}
			}
		})
	}
	for i := range n {
		todo <- i
	}
	close(todo)
	all.Wait()
}

// holdings is what a server has of the machine's, by kind.
type holdings map[string]int

func (w *world) holdings(t *testing.T) holdings {
	t.Helper()
	h := holdings{}
	proc := fmt.Sprintf("/proc/%d", w.cmd.Process.Pid)
	fds, err := os.ReadDir(proc + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		to, _ := os.Readlink(proc + "/fd/" + fd.Name())
		kind, _, _ := strings.Cut(to, ":[")
		if strings.HasPrefix(kind, "/") {
			kind = "file"
		}
		h["descriptors"]++
		h["descriptors: "+kind]++
	}
	tasks, _ := filepath.Glob(proc + "/task/*")
	h["threads"] = len(tasks)
	for _, task := range tasks {
		children, _ := os.ReadFile(task + "/children")
		for pid := range strings.FieldsSeq(string(children)) {
			h["children"]++
			if stat, _ := os.ReadFile("/proc/" + pid + "/stat"); strings.Contains(string(stat), ") Z ") {
				h["zombies"]++
			}
		}
	}
	mounts, _ := os.ReadFile(proc + "/mountinfo")
	h["mounts"] = strings.Count(string(mounts), "\n")
	h["control groups"] = len(w.cgroups())
	h["temporary files"] = len(below(w.path("tmp"))) + len(below(w.path("state/tmp")))
	return h
}

// beyond reports whether there is more of something, by more than a few.
func (h holdings) beyond(before holdings, few int) bool {
	for kind, n := range h {
		slack := few
		if kind == "mounts" || kind == "zombies" {
			slack = 0
		}
		if n > before[kind]+slack {
			return true
		}
	}
	return false
}

// cgroups are those that carry the mark of the world's server.
func (w *world) cgroups() []string {
	var found []string
	words, _ := os.ReadDir(w.path("state/servers"))
	for _, word := range words {
		for _, pattern := range []string{"/sys/fs/cgroup/*%s*", "/sys/fs/cgroup/*/*%s*", "/sys/fs/cgroup/*%s*/*", "/sys/fs/cgroup/*/*%s*/*"} {
			dirs, _ := filepath.Glob(fmt.Sprintf(pattern, word.Name()))
			found = append(found, slices.DeleteFunc(dirs, func(path string) bool {
				st, err := os.Stat(path)
				return err != nil || !st.IsDir()
			})...)
		}
	}
	return found
}

// below lists everything in a directory.
func below(dir string) []string {
	var paths []string
	_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
		if path != dir {
			paths = append(paths, path)
		}
		return nil
	})
	return paths
}

// endsWithNothing ends the server and looks for what it has left.
func (w *world) endsWithNothing(t *testing.T) {
	t.Helper()
	groups := w.cgroups()
	_ = w.session.Close()
	if left := append(below(w.path("tmp")), below(w.path("state/tmp"))...); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
	if words, _ := os.ReadDir(w.path("state/servers")); len(words) > 0 {
		t.Errorf("the server has left word of itself: %v", words)
	}
	for _, dir := range groups {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("a control group is left: %s", dir)
		}
	}
	if log := w.stderr.String(); strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("the server complained:\n%s", log)
	}
}

// TestEscapeE55APipeInTheWayHoldsNobodyUp: the server looks through the
// workspace now and then, for repositories. A command puts a pipe, which
// nobody writes, in the place of a directory, again and again.
func TestEscapeE55APipeInTheWayHoldsNobodyUp(t *testing.T) {
	for _, w := range confinedOnly(everywhere(t, habitat{furnish: func(t *testing.T, w *world) { w.put(t, "ws/a/file", "") }})) {
		t.Run("E55 "+w.String(), func(t *testing.T) {
			t.Parallel()
			s := w.on(t)
			s.process("testcmd", []string{"attempt", "mknod", "b", "fifo"}).ran()
			swapped := make(chan reply, 1)
			go func() {
				swapped <- s.process("testcmd", []string{"attempt", "exchange-often", "a", "b"}, args{"timeout_ms": 20_000})
			}()
			var rooms []string // a look may follow each command that is alone in its room
			for range 12 {
				rooms = append(rooms, s.newSession())
			}
			for n, done := 0, false; !done; n++ {
				select {
				case r := <-swapped:
					if o := outcomeOf(t, r); !o.OK {
						t.Fatalf("nothing was exchanged: %+v", o)
					}
					done = true
				default:
					s.inSession(rooms[n%len(rooms)], "testcmd", []string{"exit", "0"})
				}
			}
			began := time.Now()
			_ = w.session.Close()
			if took := time.Since(began); took > 4900*time.Millisecond { // then it is told to, and then it is killed
				t.Errorf("the server took %v to leave", took)
			}
		})
	}
}
