//go:build escape

package e2e

const renameat2 = 316 // arch/x86/entry/syscalls/syscall_64.tbl
