//go:build unix

package run

import (
	"errors"
	"syscall"

	"tipstaff/internal/policy"
)

// errReplaced says that the file is not the one that was judged.
var errReplaced = errors.New("the program's file was replaced after it was allowed")

// checkProgram makes sure that the program's name still leads to the file that
// was judged. Between this check and exec, a file can be replaced only where
// the permissions of the operator's own directories allow it.
func checkProgram(p policy.Program) error {
	var st syscall.Stat_t
	if err := syscall.Stat(p.Path, &st); err != nil {
		return err
	}
	if (policy.FileID{Dev: uint64(st.Dev), Ino: uint64(st.Ino)}) != p.File {
		return errReplaced
	}
	return nil
}
