//go:build unix

package run

import (
	"errors"
	"syscall"

	"tipstaff/internal/policy"
	"tipstaff/internal/sandbox"
)

// errReplaced says that the file is not the one that was judged.
var errReplaced = errors.New("the program's file was replaced after it was allowed")

// checkProgram makes sure that the program's name leads the command, in its own view, to
// the file that was judged. Between this check and exec, a file can be replaced only where
// the permissions of the operator's own directories allow it.
func checkProgram(c *sandbox.Confined, p policy.Program) error {
	file, err := c.Find(p.Path)
	if err != nil {
		return err
	}
	var st syscall.Stat_t
	if err := syscall.Stat(file, &st); err != nil {
		return err
	}
	if (policy.FileID{Dev: uint64(st.Dev), Ino: uint64(st.Ino)}) != p.File {
		return errReplaced
	}
	return nil
}
