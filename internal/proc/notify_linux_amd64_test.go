package proc

import "golang.org/x/sys/unix"

var oldRenames = []uint32{unix.SYS_RENAME}
