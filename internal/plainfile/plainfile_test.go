//go:build unix

package plainfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestNothingButAFileIsRead: a pipe nobody writes, a device without an end, a directory,
// a socket. os.ReadFile would wait at the first and fill the memory from the second.
func TestNothingButAFileIsRead(t *testing.T) {
	dir := t.TempDir()
	pipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket")
	must(t, syscall.Mkfifo(pipe, 0o600))
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	must(t, err)
	defer func() { _ = syscall.Close(fd) }()
	must(t, syscall.Bind(fd, &syscall.SockaddrUnix{Name: socket}))
	link := filepath.Join(dir, "link")
	must(t, os.Symlink("/dev/zero", link))
	for _, path := range []string{pipe, socket, dir, link, "/dev/null"} {
		for says, open := range map[string]func(string) (*os.File, error){"Open": Open, "OpenItself": OpenItself} {
			f, err := open(path)
			if err == nil {
				_ = f.Close()
			}
			if !errors.Is(err, ErrIrregular) && (path != link || err == nil) {
				t.Errorf("%s %s: %v", says, path, err)
			}
		}
		if _, err := FS(filepath.Dir(path)).Open(filepath.Base(path)); !errors.Is(err, ErrIrregular) {
			t.Errorf("in a tree, %s: %v", path, err)
		}
	}
	if _, err := Read(filepath.Join(dir, "none"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestAFileThatFillsTheMemoryIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sparse")
	must(t, os.WriteFile(path, []byte("12345"), 0o600))
	if data, err := Read(path, 5); err != nil || string(data) != "12345" {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := Read(path, 4); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), path+": it is too large: more than 4 bytes") {
		t.Errorf("%q, %v", data, err)
	}
	must(t, os.Truncate(path, 1<<40))
	if _, err := Read(path, 1<<20); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

func TestALinkIsFollowedUnlessTheFileItselfIsMeant(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	must(t, os.WriteFile(path, []byte("x"), 0o600))
	must(t, os.Symlink(path, link))
	f, err := Open(link)
	must(t, err)
	data, err := io.ReadAll(f)
	must(t, errors.Join(err, f.Close()))
	if string(data) != "x" {
		t.Errorf("%q", data)
	}
	if f, err := OpenItself(link); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("%v, %v", f, err)
	}
}

func TestADirectoryIsOpenedAndNothingElseIs(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	d, err := OpenDir(dir)
	must(t, err)
	must(t, d.Close())
	if _, err := OpenDir(pipe); !errors.Is(err, syscall.ENOTDIR) {
		t.Error(err)
	}
}

func TestATreeHasItsFiles(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "a"), []byte("x"), 0o600))
	tree := FS(dir)
	if data, err := fs.ReadFile(tree, "a"); err != nil || string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
	for _, name := range []string{"../a", "/a", ""} {
		if _, err := tree.Open(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := fs.Stat(tree, name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
