package capture

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// much is a stream of which most comes by way of a relay.
func much() []byte {
	text := make([]byte, 5*big)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range text {
		text[i] = byte(r.Uint32())
	}
	return text
}

// poured gives the reading end of a pipe into which text is written, in pieces
// of every size.
func poured(t *testing.T, text []byte) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	go func() {
		defer w.Close()
		sizes := rand.New(rand.NewPCG(5, 6))
		for rest := text; len(rest) > 0; {
			n := min(1+sizes.IntN(1<<sizes.IntN(19)), len(rest))
			if _, err := w.Write(rest[:n]); err != nil {
				return // the test has failed and says why
			}
			rest = rest[n:]
		}
	}()
	return r
}

// wantWhole drains r and compares.
func wantWhole(t *testing.T, r io.Reader, text []byte) {
	t.Helper()
	b := NewBuffer(len(text))
	Drain(b, r)
	if got := b.Stream().Head; !bytes.Equal(got, text) {
		t.Errorf("%d bytes became %d, or others", len(text), len(got))
	}
}

func TestABigStreamArrivesWholeByWayOfARelay(t *testing.T) {
	text := much()
	before := testcmdtest.Descriptors(t)
	t.Run("a pipe", func(t *testing.T) { wantWhole(t, poured(t, text), text) })
	t.Run("a pipe that keeps its packets apart", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		// The child may ask for that; what does not fit a read would be lost.
		if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, w.Fd(), syscall.F_SETFL, syscall.O_DIRECT); errno != 0 {
			t.Skip("pipes have no packets here: ", errno)
		}
		go func() { _, _ = w.Write(text); _ = w.Close() }()
		wantWhole(t, r, text)
	})
	t.Run("a file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		wantWhole(t, f, text)
	})
	t.Run("no file at all", func(t *testing.T) { wantWhole(t, bytes.NewReader(text), text) })
	if after := testcmdtest.Descriptors(t); after != before {
		t.Errorf("%d descriptors became %d", before, after)
	}
}

func TestWithoutARelayAStreamArrivesAsWell(t *testing.T) {
	text := much()
	t.Run("no descriptor is left for one", func(t *testing.T) {
		r := poured(t, text)
		var old syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: old.Max}); err != nil {
			t.Fatal(err)
		}
		_, release := relayed(r, wide)
		release()
		if probe, err := os.Open(os.DevNull); err == nil {
			_ = probe.Close()
			t.Error("there are descriptors left: nothing is shown")
		}
		wantWhole(t, r, text)
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("the kernel refuses to move anything", func(t *testing.T) {
		r := poured(t, text)
		raw, err := r.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		broken := &relay{from: r, raw: raw, size: chunk, read: -1, write: -1}
		wantWhole(t, broken, text)
		if !broken.broken {
			t.Error("it was moved: nothing is shown")
		}
	})
}

// TestSomeBigStreamsHaveWidePipesAndAllArriveWhole drains more streams at once than
// may have wide pipes.
func TestSomeBigStreamsHaveWidePipesAndAllArriveWhole(t *testing.T) {
	type stream struct {
		b    *Buffer
		r, w *os.File
		done chan struct{}
	}
	const more = 3
	text := much()
	first, second := text[:3*big], text[3*big:]
	var all []stream
	for range mostWide + more {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		s := stream{NewBuffer(len(text)), r, w, make(chan struct{})}
		go func() { Drain(s.b, r); close(s.done) }()
		// When the last of this fits in, more than the big first part was read.
		if _, err := w.Write(first); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	widened := 0
	for _, s := range all {
		switch size := pipeSize(t, s.r); size {
		case wide:
			widened++
		case chunk:
		default:
			t.Errorf("a pipe holds %d bytes", size)
		}
	}
	if widened != mostWide {
		t.Errorf("%d pipes are wide, and %d may be", widened, mostWide)
	}
	for _, s := range all {
		if _, err := s.w.Write(second); err != nil {
			t.Fatal(err)
		}
		_ = s.w.Close()
		<-s.done
		if !bytes.Equal(s.b.Stream().Head, text) {
			t.Errorf("%d bytes became %d, or others", len(text), s.b.Total())
		}
		_ = s.r.Close()
	}
	if len(widths) != 0 {
		t.Errorf("%d widths were not given back", len(widths))
	}
}

// pipeSize is how many bytes a pipe holds.
func pipeSize(t *testing.T, pipe *os.File) (size int) {
	t.Helper()
	raw, err := pipe.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		var failed error
		if size, failed = unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0); failed != nil {
			t.Error(failed)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// TestADeadlineEndsADrainAndLosesNothing: a writer stays; what it has written
// is either counted or still in the pipe.
func TestADeadlineEndsADrainAndLosesNothing(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	b := NewBuffer(1000)
	done := make(chan struct{})
	go func() { Drain(b, r); close(done) }()
	const written = 3 * big
	if _, err := w.Write(make([]byte, written)); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	<-done
	_ = w.Close()
	_ = r.SetReadDeadline(time.Time{})
	rest, err := io.Copy(io.Discard, r)
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if b.Total()+rest != written || b.Total() < big {
		t.Errorf("%d bytes were counted and %d are in the pipe, of %d", b.Total(), rest, written)
	}
}

// BenchmarkDrain: a pipe that is written to as fast as it goes.
func BenchmarkDrain(b *testing.B) {
	const size = 64 << 20
	block := bytes.Repeat([]byte("a line of output that is read by nobody\n"), chunk/40)
	b.SetBytes(size)
	for b.Loop() {
		r, w, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		go func() {
			for n := 0; n < size; n += len(block) {
				_, _ = w.Write(block)
			}
			_ = w.Close()
		}()
		Drain(NewBuffer(1<<20), r)
		_ = r.Close()
	}
}
