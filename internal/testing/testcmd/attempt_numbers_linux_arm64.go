package main

// Numbers of system calls that package syscall does not have on all
// architectures, as in include/uapi/asm-generic/unistd.h.
const (
	numberNameToHandle = 264
	numberOpenByHandle = 265
	numberSetns        = 268
	numberVMReadv      = 270
	numberVMWritev     = 271
	numberKcmp         = 272
	numberRenameat2    = 276
	numberBPF          = 280
	numberUserfaultfd  = 282
)
