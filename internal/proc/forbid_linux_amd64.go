package proc

import "golang.org/x/sys/unix"

const ownArchitecture = unix.AUDIT_ARCH_X86_64

// Calls that only this architecture has.
var (
	ownForks  = []uint32{unix.SYS_FORK, unix.SYS_VFORK}
	ownOpens  = []uint32{unix.SYS_OPEN}
	ownWrites = []uint32{unix.SYS_CREAT, unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_UNLINK, unix.SYS_MKDIR, unix.SYS_RMDIR, unix.SYS_LINK, unix.SYS_SYMLINK, unix.SYS_MKNOD, unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
)
