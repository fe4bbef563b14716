package spool

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAFullDiskFailsNothing on a file system of 256 KiB. Where none can be mounted,
// /dev/full stands for it.
func TestAFullDiskFailsNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tipstaff-test", dir, "tmpfs", 0, "size=256k,mode=0700"); err == nil {
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		text := numbered(100_000)
		s := store(t, Options{Dir: dir})
		o := s.Begin("cmd_1")
		for rest := text; len(rest) > 0; rest = rest[min(len(rest), 30_000):] {
			o.Write(Stdout, rest[:min(len(rest), 30_000)])
		}
		o.End()
		wantEnds(t, o, text)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	} else if !errors.Is(err, syscall.EPERM) {
		t.Fatal(err)
	}
	// A file that takes nothing at all.
	s := store(t, Options{})
	o := s.Begin("cmd_1")
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	o.file, o.path = full, filepath.Join(s.opts.Dir, "no-such-file")
	text := numbered(20_000)
	for rest := text; len(rest) > 0; rest = rest[min(len(rest), 3000):] {
		o.Write(Stdout, rest[:min(len(rest), 3000)])
	}
	o.End()
	wantEnds(t, o, text)
}

// wantEnds says whether the beginning and the end of an output are kept, and the
// gap between them is said.
func wantEnds(t *testing.T, o *Output, text []byte) {
	t.Helper()
	if o.Whole() || o.Size() != int64(len(text)) {
		t.Errorf("whole %v, %d bytes of %d", o.Whole(), o.Size(), len(text))
	}
	p, err := o.Read(0, 10_000, Both)
	if err != nil || !bytes.HasPrefix(text, p.Text) || len(p.Text) < 5000 {
		t.Errorf("the beginning: %d bytes, %v", len(p.Text), err)
	}
	if p, err = o.Tail(100, Both); err != nil || !bytes.HasSuffix(text, p.Text) || strings.Count(string(p.Text), "\n") != 100 {
		t.Errorf("the end: %d bytes, %v", len(p.Text), err)
	}
	if p, err = o.Read(0, 0, Both); err != nil || !p.Lost {
		t.Errorf("the gap is not said: %v", err)
	}
}
