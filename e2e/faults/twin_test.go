//go:build linux && !race

package faults

import (
	"path/filepath"
	"strings"
	"time"
)

// double starts a second runner with the name and the key of the first, on a
// machine of its own.
func (f *fleet) double() {
	f.t.Helper()
	first := f.runners[0]
	if f.twin == nil {
		f.twin = f.place("twin", 50)
		f.twin.work = filepath.Join(f.dir, "twin", "work")
	}
	f.twin.argv = append([]string{}, first.argv...)
	f.twin.env = append([]string{}, first.env...)
	f.twin.env = append(f.twin.env, "TIPSTAFF_STATE_DIR="+f.twin.state, "HOME="+f.twin.home, "ALLOWED_CWD_ROOTS="+f.twin.work)
	f.twin.start()
}

// single wants it to have ended by itself, with the reason, and no command to have
// been started there.
func (f *fleet) single() {
	f.t.Helper()
	if f.twin.alive() {
		f.twin.stop(time.Minute)
		f.t.Errorf("two runners of one name run side by side\n%s", f.twin.tail(10))
	}
	if says := f.twin.tail(20); !strings.Contains(says, "another runner has this name") {
		f.t.Errorf("the second runner does not say why it has ended\n%s", says)
	}
	if n := len(f.startedOn(f.twin)); n > 0 {
		f.t.Errorf("the second runner has started %d commands", n)
	}
}
