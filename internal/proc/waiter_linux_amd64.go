package proc

// waiterMachine is EM_X86_64, elf(5).
const waiterMachine = 62

// waiterCode is the whole program of the first process of a PID namespace: it
// makes itself not dumpable, so that other processes cannot read its memory,
// and waits.
var waiterCode = []byte{
	0x31, 0xf6, // xor esi, esi
	0x6a, 0x04, 0x5f, // push 4; pop rdi      PR_SET_DUMPABLE
	0xb8, 0x9d, 0x00, 0x00, 0x00, // mov eax, 157          prctl
	0x0f, 0x05, // syscall
	0xb8, 0x22, 0x00, 0x00, 0x00, // mov eax, 34           pause
	0x0f, 0x05, // syscall
	0xeb, 0xf7, // jmp to the mov before
}
