package proc

import "golang.org/x/sys/unix"

const ownArchitecture = unix.AUDIT_ARCH_AARCH64

// Calls that only this architecture has.
var (
	ownForks  []uint32
	ownOpens  []uint32
	ownWrites = []uint32{unix.SYS_RENAMEAT}
)
