//go:build linux && !race

package faults

import (
	"path/filepath"
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

// single ends it, and wants it to have been told, by name.
func (f *fleet) single() {
	f.t.Helper()
	f.twin.stop(time.Minute)
}
