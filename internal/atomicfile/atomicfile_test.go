package atomicfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// only checks that a directory has one file, with this content.
func only(t *testing.T, path, want string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(path) {
			t.Error("left over:", e.Name())
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

func fileWith(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// recorder is the real system, which notes its steps and fails at one of them.
func recorder(steps *[]string, fail string) system {
	do := func(step string, really func() error) error {
		*steps = append(*steps, step)
		if step == fail {
			return errors.New("broken")
		}
		return really()
	}
	return system{
		func(f *os.File) error { return do("sync", f.Sync) },
		func(temp, path string) error { return do("name", func() error { return os.Rename(temp, path) }) },
		func(path string) error { return do("sync directory", func() error { return syncDir(path) }) },
	}
}

func TestAFileIsSyncedBeforeItHasItsNameAndItsDirectoryAfterwards(t *testing.T) {
	path := fileWith(t, "old")
	var steps []string
	note := func(step string) error {
		steps = append(steps, step)
		if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
			t.Errorf("%s: %q, %v", step, got, err)
		}
		return nil
	}
	err := recorder(&steps, "").put(path, strings.NewReader("new"), Options{
		Mode:  0o644,
		Own:   func(*os.File) error { return note("own") },
		Check: func() error { return note("check") },
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"own", "sync", "check", "name", "sync directory"}; !slices.Equal(steps, want) {
		t.Errorf("%q, want %q", steps, want)
	}
	only(t, path, "new")
}

func TestAFileHasTheModeThatItIsGiven(t *testing.T) {
	for _, mode := range []fs.FileMode{0o400, 0o600, 0o644, 0o666} {
		path := fileWith(t, "old")
		if err := Replace(path, strings.NewReader("new"), Options{Mode: mode}); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || !sameMode(info.Mode(), mode) {
			t.Errorf("%v, %v; want %v", info.Mode(), err, mode)
		}
		only(t, path, "new")
	}
}

func TestAFailureLeavesTheOldFileAndNothingElse(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name    string
		fail    string // a step of the system
		content io.Reader
		options Options
		step    Step
	}{
		{"content", "", io.MultiReader(strings.NewReader("ne"), iotest.ErrReader(broken)), Options{Mode: 0o600}, Write},
		{"owner", "", strings.NewReader("new"), Options{Mode: 0o600, Own: func(*os.File) error { return broken }}, Write},
		{"sync", "sync", strings.NewReader("new"), Options{Mode: 0o600}, Sync},
		{"check", "", strings.NewReader("new"), Options{Mode: 0o600, Check: func() error { return broken }}, Check},
		{"name", "name", strings.NewReader("new"), Options{Mode: 0o600}, Name},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := fileWith(t, "old")
			err := recorder(new([]string), c.fail).put(path, c.content, c.options)
			var failed *Error
			if !errors.As(err, &failed) || failed.Step != c.step || failed.Path != path {
				t.Errorf("%v, want %s", err, c.step)
			}
			if !strings.Contains(err.Error(), "cannot "+string(c.step)+": broken; nothing was changed") {
				t.Error(err)
			}
			only(t, path, "old")
		})
	}
}

func TestADirectoryThatCannotBeSyncedHasTheNewFile(t *testing.T) {
	path := fileWith(t, "old")
	err := recorder(new([]string), "sync directory").put(path, strings.NewReader("new"), Options{Mode: 0o600})
	var failed *Error
	if !errors.As(err, &failed) || failed.Step != SyncDir || strings.Contains(err.Error(), "nothing was changed") {
		t.Error(err)
	}
	only(t, path, "new")
}

func TestWhatCannotBeReplacedIsLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.MkdirAll(filepath.Join(path, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	var failed *Error
	if err := Replace(path, strings.NewReader("new"), Options{Mode: 0o600}); !errors.As(err, &failed) || failed.Step != Name {
		t.Error("a directory:", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Error(entries, err)
	}
	none := filepath.Join(path, "none", "file")
	if err := Replace(none, strings.NewReader("new"), Options{Mode: 0o600}); !errors.As(err, &failed) || failed.Step != Make || !errors.Is(err, fs.ErrNotExist) {
		t.Error("no directory:", err)
	}
}

func TestCreateReplacesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := Create(path, strings.NewReader("first"), Options{Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	only(t, path, "first")
	if err := Create(path, strings.NewReader("second"), Options{Mode: 0o600}); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	only(t, path, "first")
	// Also if it comes while the content is written.
	path = filepath.Join(t.TempDir(), "file")
	err := Create(path, strings.NewReader("second"), Options{Mode: 0o600, Check: func() error { return os.WriteFile(path, []byte("first"), 0o600) }})
	if !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	only(t, path, "first")
}

func TestReadersFindTheOldFileOrTheNewOne(t *testing.T) {
	old, fresh := bytes.Repeat([]byte("o"), 1<<16), bytes.Repeat([]byte("n"), 1<<17)
	path := fileWith(t, string(old))
	done := make(chan error, 1)
	go func() {
		for range 20 {
			for _, text := range [][]byte{fresh, old} {
				if err := Replace(path, bytes.NewReader(text), Options{Mode: 0o600}); err != nil {
					done <- err
					return
				}
			}
		}
		done <- nil
	}()
	for {
		got, err := os.ReadFile(path)
		if err == nil && !bytes.Equal(got, old) && !bytes.Equal(got, fresh) {
			t.Fatalf("%d bytes of neither", len(got))
		}
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			only(t, path, string(old))
			return
		default:
		}
	}
}
