package seekable_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"tipstaff/internal/audit/seekable"
)

// content is text that compresses, and noise that does not.
func content(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, `{"v":1,"seq":%d,"event":"command.start","hash":"%x"}`+"\n", i, r.Uint64())
	}
	return b.Bytes()[:n]
}

func packed(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := seekable.Write(&out, iotest.OneByteReader(bytes.NewReader(data))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestWhatIsPackedIsReadFromAnyPlace(t *testing.T) {
	for _, n := range []int{0, 1, seekable.FrameBytes - 1, seekable.FrameBytes, seekable.FrameBytes + 1, 2*seekable.FrameBytes + 12345} {
		want := content(n)
		file := packed(t, want)
		r, err := seekable.NewReader(bytes.NewReader(file), int64(len(file)))
		if err != nil || r.Size() != int64(n) {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes in order: %d, %v", n, len(got), err)
		}
		for _, at := range []int{n - 1, n / 2, 0, seekable.FrameBytes - 3} {
			if at < 0 || at >= n {
				continue
			}
			p := make([]byte, min(10, n-at))
			if m, err := r.ReadAt(p, int64(at)); m != len(p) || err != nil || !bytes.Equal(p, want[at:at+m]) {
				t.Errorf("%d bytes at %d of %d: %v", m, at, n, err)
			}
		}
		if m, err := r.ReadAt(make([]byte, 5), int64(n)); m != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("behind the end of %d: %d, %v", n, m, err)
		}
	}
}

func TestEveryProgramForZstdReadsIt(t *testing.T) {
	want := content(2*seekable.FrameBytes + 7)
	in, err := zstd.NewReader(bytes.NewReader(packed(t, want)))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if got, err := io.ReadAll(in); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// Whatever is changed, what is read is the content, or an error that says that the
// file is damaged.
func TestADamagedFileIsNeverReadAsSomethingElse(t *testing.T) {
	want := content(3000)
	file := packed(t, want)
	for i := range file {
		bad := bytes.Clone(file)
		bad[i] ^= 0x41
		check(t, fmt.Sprintf("byte %d", i), bad, want)
	}
	for n := range len(file) {
		check(t, fmt.Sprintf("the first %d bytes", n), file[:n], want)
	}
	check(t, "more than it was", append(bytes.Clone(file), 0), want)
}

func check(t *testing.T, what string, file, want []byte) {
	t.Helper()
	r, err := seekable.NewReader(bytes.NewReader(file), int64(len(file)))
	if err == nil {
		var got []byte
		if got, err = io.ReadAll(r); err == nil && bytes.Equal(got, want) {
			return // flags of the frame that change nothing
		}
	}
	if !errors.Is(err, seekable.ErrCorrupt) {
		t.Errorf("%s: %v", what, err)
	}
}
