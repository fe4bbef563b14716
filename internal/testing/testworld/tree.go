// Package testworld makes the small world of a test: a directory with files,
// links and git repositories, and a machine whose programs a policy allows. No
// part of the program imports it.
package testworld

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// Tree is a directory of one test. Its methods end the test when they fail.
// They take names relative to Root, or paths below it.
type Tree struct {
	*testing.T

	Root string // without symbolic links
}

// New makes a tree that is removed after the test.
func New(t *testing.T) *Tree {
	t.Helper()
	return In(t, t.TempDir())
}

// In makes a tree in a directory that the caller removes.
func In(t *testing.T, dir string) *Tree {
	t.Helper()
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &Tree{t, root}
}

// At returns the path of a name.
func (w *Tree) At(name string) string {
	if name == w.Root || strings.HasPrefix(name, w.Root+"/") {
		return name
	}
	return filepath.Join(w.Root, name)
}

// Must ends the test if err is not nil.
func (w *Tree) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Mkdir makes directories, with their parents, that other users may enter.
func (w *Tree) Mkdir(names ...string) {
	w.Helper()
	for _, name := range names {
		w.Must(os.MkdirAll(w.At(name), 0o755)) //nolint:gosec // as a user's directories are
	}
}

// Make makes executable files, and directories by names that end with a slash.
// It returns the tree.
func (w *Tree) Make(names ...string) *Tree {
	w.Helper()
	for _, name := range names {
		if strings.HasSuffix(name, "/") {
			w.Mkdir(name)
			continue
		}
		w.WriteProgram(name, "#!/bin/sh\n")
	}
	return w
}

// Write makes a file that other users may read, and the directories above it.
func (w *Tree) Write(name, text string) {
	w.Helper()
	w.Mkdir(filepath.Dir(w.At(name)))
	w.Must(os.WriteFile(w.At(name), []byte(text), 0o644)) //nolint:gosec // as a user's files are
}

// WriteProgram makes an executable file that can run at once, and the
// directories above it.
func (w *Tree) WriteProgram(name, text string) {
	w.Helper()
	w.Mkdir(filepath.Dir(w.At(name)))
	testcmdtest.WriteProgram(w, w.At(name), text)
	w.Chmod(name, 0o755)
}

// Chmod changes the mode of a file or directory.
func (w *Tree) Chmod(name string, mode os.FileMode) {
	w.Helper()
	w.Must(os.Chmod(w.At(name), mode))
}

// Link makes a symbolic link to target, which is taken as it is, and the
// directories above the link.
func (w *Tree) Link(target, name string) {
	w.Helper()
	w.Mkdir(filepath.Dir(w.At(name)))
	w.Must(os.Symlink(target, w.At(name)))
}

// Read returns the contents of a file.
func (w *Tree) Read(name string) string {
	w.Helper()
	text, err := os.ReadFile(w.At(name))
	w.Must(err)
	return string(text)
}
