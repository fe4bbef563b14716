//go:build contain

package e2e

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestWhatMustNotHappenDoesNot plays testdata/contain.jsonl through the built
// binary: 162 calls by which commands have got out of other servers, brought
// them down, or made their answers lie. Those that the sandbox decides are
// played in each arrangement; the others, which are the same with any sandbox,
// in the first one.
func TestWhatMustNotHappenDoesNot(t *testing.T) {
	disposable(t)
	rows := readRows[containRow](t, "testdata/contain.jsonl")
	for i, a := range arrangements() {
		t.Run(a.String(), func(t *testing.T) {
			needTier(t, a.tier, a.uid)
			for n := range rows {
				row := &rows[n]
				if i > 0 && !row.sandboxDecides() {
					continue
				}
				t.Run(row.ID+" "+row.Why, func(t *testing.T) {
					t.Parallel()
					row.contain(t, a)
				})
			}
		})
	}
}

// TestWhatMustNotHappenHappensWithoutASandbox is the control: an attempt that
// fails anyway shows nothing.
func TestWhatMustNotHappenHappensWithoutASandbox(t *testing.T) {
	disposable(t)
	rows := readRows[containRow](t, "testdata/contain.jsonl")
	for i := range rows {
		row := &rows[i]
		if !row.Live || !slices.Contains([]string{"read", "write", "net", "proc"}, row.Group) || controls[row.ID] != "" {
			continue
		}
		t.Run(row.ID+" "+row.Why, func(t *testing.T) {
			t.Parallel()
			row.needProgram(t)
			s := setStage(t, row, testUsers()[0], sandboxed(noTier))
			if found := s.check(s.play()); len(found) == 0 {
				t.Error("it fails without a sandbox too: the row shows nothing")
			}
		})
	}
}

// disposable skips the test where it could hit something: its commands kill
// whom they can.
func disposable(t *testing.T) {
	t.Helper()
	if os.Getpid() != 1 {
		t.Skip("no namespaces here: the tests are not in a PID namespace of their own, and these kill whom they can")
	}
}

// sandboxDecides reports whether a row is about what the sandbox keeps. Output,
// the protocol, directories, variables and records are the server's own business.
func (row *containRow) sandboxDecides() bool {
	return slices.Contains([]string{"read", "write", "net", "proc"}, row.Group) || settings[row.ID] != nil
}

// contain plays a row in an arrangement.
func (row *containRow) contain(t *testing.T, a arrangement) {
	row.needProgram(t)
	// With the network on, what is on the machine's loopback can be reached, by design.
	env := append(sandboxed(a.tier), "TIPSTAFF_NETWORK=off")
	s := setStage(t, row, a.uid, append(env, settings[row.ID]...))
	found := s.check(s.play())
	why := exceptions[row.ID][a.tier]
	switch {
	case why == "" && len(found) > 0:
		t.Errorf("%s\nthe server said: %s", strings.Join(found, "\n"), s.cmd.Stderr)
	case why != "" && len(found) == 0:
		t.Errorf("it is no exception any more: %s", why)
	}
}

// needProgram skips a row whose program is not there, unless that is the point.
func (row *containRow) needProgram(t *testing.T) {
	t.Helper()
	name := row.Allowed[0]
	if _, err := exec.LookPath(name); err != nil && name != "nonexistent-prog" && name != "notexec" {
		t.Skipf("%s is not installed", name)
	}
}
