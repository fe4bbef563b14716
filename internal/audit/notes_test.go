package audit

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A single checkpoint is found by reading little of a long file, and it is the one that
// reading all of it finds.
func TestSingleCheckpointsAreFoundInALongFile(t *testing.T) {
	dir := writtenTrail(t, filepath.Join(t.TempDir(), "audit"), 12_000, Options{})
	path := filepath.Join(dir, checkpointsFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	notes, torn := splitNotes(data)
	if len(data) < 3*noteWindow || torn {
		t.Fatalf("%d bytes are not long", len(data))
	}
	for seq := uint64(1); seq <= 12_050; seq += 7 {
		var want []byte
		if i := slices.IndexFunc(notes, func(n []byte) bool { return sizeOf(n) >= seq }); i >= 0 {
			want = notes[i]
		}
		if got, err := (Files{}).firstNote(path, seq); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("record %d: %q, %v, want %q", seq, got, err, want)
		}
	}
	for _, torn := range []int{0, 1, 40, 200} { // a crash may have torn the last one
		short := filepath.Join(t.TempDir(), checkpointsFile)
		left := data[:len(data)-torn]
		if err := os.WriteFile(short, left, 0o600); err != nil {
			t.Fatal(err)
		}
		whole, _ := splitNotes(left)
		if got, err := (Files{}).lastNote(short); err != nil || !bytes.Equal(got, whole[len(whole)-1]) {
			t.Errorf("without %d bytes: %q, %v", torn, got, err)
		}
	}
	empty := filepath.Join(t.TempDir(), checkpointsFile)
	for _, text := range []string{"", "nonsense\n\n", string(bytes.Repeat([]byte("tipstaff-audit/x\n\n"), 3000))} {
		if err := os.WriteFile(empty, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		first, err := (Files{}).firstNote(empty, 1)
		last, err2 := (Files{}).lastNote(empty)
		if err != nil || err2 != nil || first != nil || last != nil {
			t.Errorf("%.20q: %q %v, %q %v", text, first, err, last, err2)
		}
	}
}
