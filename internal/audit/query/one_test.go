package query

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestOneRecordIsFoundByItsNumber(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, began(), time.Millisecond, some(1, 900)...)
	split(t, path, 4)
	trail := find(t, dir)[0]
	for _, seq := range []uint64{1, 2, 224, 225, 226, 449, 450, 899, 900} {
		l, err := One(t.Context(), &trail, seq)
		if err != nil || l.Record.Seq != seq || len(l.Raw) == 0 || l.Trail != &trail {
			t.Fatalf("record %d: %+v, %v", seq, l, err)
		}
	}
	for _, seq := range []uint64{0, 901} {
		if l, err := One(t.Context(), &trail, seq); !errors.Is(err, ErrNoRecord) {
			t.Errorf("record %d: %+v, %v", seq, l, err)
		}
	}
	// Records that were moved are found all the same.
	file := filepath.Join(path, "000002.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	slices.Reverse(lines)
	put(t, file, slices.Concat(lines...))
	trail = find(t, dir)[0]
	for seq := uint64(226); seq < 450; seq += 20 {
		if l, err := One(t.Context(), &trail, seq); err != nil || l.Record.Seq != seq {
			t.Errorf("record %d that was moved: %v", seq, err)
		}
	}
}
