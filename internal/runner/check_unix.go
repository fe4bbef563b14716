//go:build unix

package runner

import (
	"errors"
	"syscall"

	"tipstaff/internal/policy"
)

// errReplaced: the file is not the one that was judged.
var errReplaced = errors.New("the program's file was replaced after it was allowed")

// checkProgram makes sure that the program's name still leads to the file that
// was judged. What can be swapped between this look and exec is only what the
// operator's own directories allow to be swapped.
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
