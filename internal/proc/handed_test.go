//go:build linux && (amd64 || arm64)

package proc

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAProgramStartsFromAnOpenFileWithFurtherDescriptors: its path is gone by then,
// and in namespaces it was never there. Descriptors that lie where the child's will
// be do not get in the way.
func TestAProgramStartsFromAnOpenFileWithFurtherDescriptors(t *testing.T) {
	for name, e := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			shell, err := os.ReadFile("/bin/dash")
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "shell")
			if err := os.WriteFile(path, shell, 0o700); err != nil {
				t.Fatal(err)
			}
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			root, err := os.Open("/")
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			const n = 5
			var readers, writers [n]*os.File
			for i := range n {
				if readers[i], writers[i], err = os.Pipe(); err != nil {
					t.Fatal(err)
				}
				defer readers[i].Close()
			}
			l := Launch{
				Path: path, File: file, Argv: []string{"sh", "-c", "echo $0 three >&3; echo four >&4; echo six >&6; (echo seven >&7) 2>/dev/null || echo none", "handed"},
				Dir: root.Fd(), DirPath: "/", Confine: confinementOf(e), Stdout: writers[0], More: writers[1:],
			}
			p, err := e.Start(l)
			for _, w := range writers {
				_ = w.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			defer p.End(0)
			for i, want := range []string{"none\n", "handed three\n", "four\n", "", "six\n"} {
				if got, err := io.ReadAll(readers[i]); string(got) != want || err != nil {
					t.Errorf("descriptor %d gave %q, %v", i+2, got, err)
				}
			}
			if st := p.Status(); st.ExitCode != 0 {
				t.Errorf("ended as %+v", st)
			}
			l.File, l.Stdout, l.More = nil, nil, nil
			if p, err := e.Start(l); !errors.Is(err, syscall.ENOENT) {
				t.Errorf("without the file: %v", err)
				if err == nil {
					p.End(0)
				}
			}
		})
	}
}

func TestASignalReachesTheProgramOnlyWhileItRuns(t *testing.T) {
	for name, e := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			p, out := spawn(t, e, "sh", "-c", "trap 'echo got; exit 3' USR1; echo ready; while :; do sleep 0.01; done")
			var line [6]byte
			if _, err := io.ReadFull(out, line[:]); err != nil || strings.TrimSpace(string(line[:])) != "ready" {
				t.Fatalf("%q, %v", line, err)
			}
			if err := p.Signal(syscall.SIGUSR1); err != nil {
				t.Fatal(err)
			}
			if st := p.Status(); st.ExitCode != 3 {
				t.Errorf("ended as %+v", st)
			}
			if err := p.Signal(syscall.SIGUSR1); err == nil {
				t.Error("what has ended got a signal")
			}
		})
	}
}
