package replicate_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/natsx/enginetest"
	"tipstaff/internal/fleet/replicate"
)

const fullDiskEnv = "TIPSTAFF_TEST_FULL_DISK"

// TestAFullDiskOfTheEngineLosesNothing runs itself again in a mount namespace of
// its own, with a small file system for the engine's streams.
func TestAFullDiskOfTheEngineLosesNothing(t *testing.T) {
	if dir := os.Getenv(fullDiskEnv); dir != "" {
		fillTheEngine(t, dir)
		return
	}
	if os.Getuid() != 0 {
		t.Skip("only root may mount a small file system")
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip(err)
	}
	t.Parallel()
	small := t.TempDir()
	cmd := exec.Command(unshare, "-m", "--propagation", "private", "sh", "-c",
		`mount -t tmpfs -o size=24m tmpfs "$1" || exit 77; TMPDIR="$1" exec "$2" -test.v -test.run '^TestAFullDiskOfTheEngineLosesNothing$'`, "sh", small, os.Args[0])
	cmd.Env = append(os.Environ(), fullDiskEnv+"="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code == 77 || code == 1 && len(out) > 0 && out[0] == 'u' {
		t.Skipf("no small file system can be mounted here: %s", out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// fillTheEngine has the trail on a disk with room, and the streams on one
// without.
func fillTheEngine(t *testing.T, dir string) {
	s := enginetest.Start(t)
	g := s.Connect(natsx.Gateway, "g1")
	// The bucket of claims reserves more than there is, and holds up no stream.
	if err := g.MakeStreams(within(t), 1); err == nil || strings.Count(err.Error(), "cannot make") != 1 || !strings.Contains(err.Error(), "claims") {
		t.Fatal(err)
	}
	p := begin(t, dir, s.Connect(natsx.Runner, "r1"), replicate.Options{Strict: true, Patience: patience})
	p.write(100)
	if err := p.shipper.Confirm(); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(os.TempDir(), "filler")
	fill(t, filler)
	var err error
	for range 50 {
		p.write(200)
		if err = p.shipper.Confirm(); err != nil {
			break
		}
	}
	st := p.shipper.Status()
	t.Logf("full: %v; %+v", err, st)
	if err == nil || st.Written == st.Copied {
		t.Fatal("the disk is full, and the stream acknowledged everything")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	s.Stop() // what an operator does: room, and the server again
	s.Start()
	if err := g.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	p.until("all copied", func(st replicate.Status) bool { return p.shipper.Confirm() == nil })
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	same(t, g, p.trail.Path())
}

// fill writes until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	for range 32 << 20 / len(block) {
		if _, err := f.Write(block); err != nil {
			return
		}
	}
	t.Fatal(errors.New("the disk does not become full"))
}
