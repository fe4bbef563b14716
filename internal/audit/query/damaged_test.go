package query

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tipstaff/internal/audit/seekable"
)

// TestADamagedArchiveHidesNoOtherTrail: what cannot be read of it is counted as one line
// that is no record.
func TestADamagedArchiveHidesNoOtherTrail(t *testing.T) {
	for name, damage := range map[string]func(packed []byte) []byte{
		"empty":          func([]byte) []byte { return nil },
		"without an end": func(packed []byte) []byte { return packed[:len(packed)-1] },
		"twice":          func(packed []byte) []byte { return append(packed, packed...) },
		"one byte":       func(packed []byte) []byte { packed[len(packed)/2] ^= 0x41; return packed },
	} {
		dir := t.TempDir()
		write(t, dir, began(), time.Second, some(1, 6)...)
		path := filepath.Join(write(t, dir, began().Add(time.Minute), time.Second, some(2, 300)...), "000001.jsonl")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		if err := seekable.Write(&packed, bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		put(t, path+seekable.Extension, packed.Bytes())
		if got, tally := read(t, find(t, dir), &Filter{}); len(got) != 306 || tally.Faults.Bad > 0 {
			t.Fatalf("the control: %d records, %+v", len(got), tally.Faults)
		}
		put(t, path+seekable.Extension, damage(packed.Bytes()))
		trails := find(t, dir)
		for _, f := range []*Filter{{}, {Since: began()}} {
			if got, tally := read(t, trails, f); len(got) != 6 || tally.Faults.Bad != 1 || tally.Faults.First.File != path {
				t.Errorf("%s: %d records, %+v", name, len(got), tally.Faults)
			}
			if got, tally := last(t, trails, f, 400); len(got) != 6 || tally.Faults.Bad != 1 {
				t.Errorf("%s, from the end: %d records, %+v", name, len(got), tally.Faults)
			}
		}
	}
}
