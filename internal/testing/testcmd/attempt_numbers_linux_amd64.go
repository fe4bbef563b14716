package main

// Numbers of system calls that package syscall does not have, as in
// arch/x86/entry/syscalls/syscall_64.tbl.
const (
	numberNameToHandle = 303
	numberOpenByHandle = 304
	numberSetns        = 308
	numberVMReadv      = 310
	numberVMWritev     = 311
	numberKcmp         = 312
	numberRenameat2    = 316
	numberBPF          = 321
	numberUserfaultfd  = 323
)
