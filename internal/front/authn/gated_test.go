package authn

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// closed is a gate that lets nothing be read again.
type closed struct{}

func (closed) MayReread(...string) bool { return false }

// TestFilesThatACommandMayHaveChangedAreReadWhenAPersonSaysSo and not with the
// request that comes next.
func TestFilesThatACommandMayHaveChangedAreReadWhenAPersonSaysSo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a")
	w, err := watch("test", []string{path}, closed{}, slog.New(slog.DiscardHandler), func() (string, error) {
		text, err := os.ReadFile(path)
		return string(text), err
	})
	if err != nil {
		t.Fatal(err)
	}
	write("bb")
	if got := w.current(); got != "a" {
		t.Errorf("it says %q", got)
	}
	w.reload()
	if got := w.current(); got != "bb" {
		t.Errorf("after a person has asked it says %q", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if w.reload(); w.current() != "bb" {
		t.Errorf("without the file it says %q", w.current())
	}
}
