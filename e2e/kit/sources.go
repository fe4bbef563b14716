//go:build unix

package kit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// FollowSources makes the go command run a package's tests again when the
// program under test has changed. The go command does not know that the tests
// build that program, so it would show a cached result. It decides by the files
// that a test opens; a directory that is read stands for its contents.
func FollowSources(t testing.TB) {
	t.Helper()
	if err := followed(); err != nil {
		t.Fatal("cannot look at the sources of tipstaff: ", err)
	}
}

var followed = sync.OnceValue(func() error {
	root, err := filepath.Abs(".")
	for err == nil {
		if _, none := os.Stat(filepath.Join(root, "go.mod")); none == nil {
			break
		}
		if root == filepath.Dir(root) {
			return errors.New("there is no go.mod")
		}
		root = filepath.Dir(root)
	}
	files, _ := filepath.Glob(filepath.Join(root, "*.go"))
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			return err
		}
	}
	look := func(_ string, _ fs.DirEntry, err error) error { return err }
	return errors.Join(err, filepath.WalkDir(filepath.Join(root, "cmd"), look), filepath.WalkDir(filepath.Join(root, "internal"), look))
})
