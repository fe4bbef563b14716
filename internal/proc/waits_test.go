//go:build linux && (amd64 || arm64)

package proc

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestAProgramThatWaitsForInputIsToldFromOneThatWorks, in every kind of engine:
// the processes of a command may be in namespaces.
func TestAProgramThatWaitsForInputIsToldFromOneThatWorks(t *testing.T) {
	for name, e := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			for _, argv := range [][]string{{"cat"}, {"sh", "-c", "read x"}, {"sh", "-c", "cat; true"}} {
				p, in, _ := spawnReading(t, e, argv...)
				for limit := time.Now().Add(10 * time.Second); !p.WaitsFor(in); {
					if time.Now().After(limit) {
						t.Fatalf("%q: it is not told that it waits", argv)
					}
				}
				if p.End(0); p.WaitsFor(in) {
					t.Errorf("%q: it waits after its end", argv)
				}
			}
			for _, script := range []string{"echo; exec sleep 60", "echo; while :; do :; done", "echo; sleep 60 | cat", "sleep 60 | { echo; cat; }"} {
				p, in, out := spawnReading(t, e, "sh", "-c", script)
				if _, err := out.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				for range 20 {
					if p.WaitsFor(in) {
						t.Fatalf("%q is said to wait for input", script)
					}
				}
				p.End(0)
			}
		})
	}
}

// spawnReading starts a program of the machine whose standard input stays open.
func spawnReading(t *testing.T, e *Engine, argv ...string) (p *Process, in, out *os.File) {
	t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Fatal(err)
	}
	d, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer outW.Close()
	p, err = e.Start(Launch{Path: path, Argv: argv, Env: []string{"PATH=/usr/bin:/bin"}, Dir: d.Fd(), DirPath: d.Name(), Stdin: r, Stdout: outW, Confine: confinementOf(e)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.End(0); _, _ = w.Close(), out.Close() })
	return p, w, out
}
