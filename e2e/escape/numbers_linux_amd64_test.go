//go:build linux && !race

package escape

const renameat2 = 316 // arch/x86/entry/syscalls/syscall_64.tbl
