//go:build unix

package clients

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// foreign says who owns the file if it is not this user, and how many names it
// has.
func (f file) foreign() (owner string, links uint64) {
	st, ok := f.info.Sys().(*syscall.Stat_t)
	if !ok {
		return "an unknown user", 1
	}
	if int(st.Uid) == os.Geteuid() {
		return "", uint64(st.Nlink)
	}
	name := strconv.Itoa(int(st.Uid))
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	return fmt.Sprintf("the user %s", name), uint64(st.Nlink)
}

// giveOwner gives another file the owner and group of f.
func (f file) giveOwner(to *os.File) error {
	st, ok := f.info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return to.Chown(int(st.Uid), int(st.Gid))
}
