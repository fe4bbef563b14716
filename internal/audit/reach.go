package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// attempts is how often the trail tries to reach its directory: a command that
// removes permissions may do so again at once.
const attempts = 3

// reach calls do, which needs the directory of the trail. A command of the same user
// may have taken away the permissions of that directory; then reach has Options.Mend
// restore them and tries again, so that no command can keep its own end off the trail.
func (t *Trail) reach(do func() error) error {
	var err error
	for range attempts {
		if err = do(); !errors.Is(err, fs.ErrPermission) || t.opts.Mend == nil {
			return err
		}
		if fault := t.opts.Mend(); fault != nil {
			return fmt.Errorf("%w; %v", err, fault)
		}
	}
	return err
}

// unreachable returns an error that names the directory above a file that the user of
// the server cannot enter. It returns errors of another kind unchanged.
func unreachable(path string, err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	dir := filepath.Dir(path)
	for up := filepath.Dir(dir); up != dir; up = filepath.Dir(up) {
		if _, fault := os.Lstat(dir); !errors.Is(fault, fs.ErrPermission) {
			break
		}
		dir = up
	}
	mode := "unknown"
	if st, err := os.Lstat(dir); err == nil {
		mode = fmt.Sprintf("%04o", st.Mode().Perm())
	}
	return fmt.Errorf("the trail's directory cannot be reached: %s has the mode %s; its owner needs 0700: %w", dir, mode, err)
}
