#include "textflag.h"

// func vfork(c *vforkCall) (pid, errno uintptr)
//
// The layout of vforkCall is in vfork_linux.go; a test compares the offsets.
//   0  trap, 8.. arg[5]      the system call that clones
//   48 steps, 56 left        what the child does
//   64 errno                 set by a child that failed
//   72 block, 80 restore     signal masks
// and of step: 0 trap, 8.. arg[6], 56 flags, 64 result.
//
// The child shares the memory of the server and runs on its stack, which it
// therefore never touches: registers only, no call, no return.
TEXT ·vfork(SB),NOSPLIT,$0-24
	MOVQ	c+0(FP), R15
	// rt_sigprocmask(SIG_SETMASK, &block, &restore, 8)
	MOVQ	$14, AX
	MOVQ	$2, DI
	LEAQ	72(R15), SI
	LEAQ	80(R15), DX
	MOVQ	$8, R10
	SYSCALL
	MOVQ	48(R15), R12
	MOVQ	0(R15), AX
	MOVQ	8(R15), DI
	MOVQ	16(R15), SI
	MOVQ	24(R15), DX
	MOVQ	32(R15), R10
	MOVQ	40(R15), R8
	SYSCALL
	TESTQ	AX, AX
	JZ	child

	// The parent comes here when the child has called execve or ended.
	MOVQ	AX, R13
	MOVQ	$14, AX
	MOVQ	$2, DI
	LEAQ	80(R15), SI
	XORL	DX, DX
	MOVQ	$8, R10
	SYSCALL
	CMPQ	R13, $0xfffffffffffff001
	JCC	failed
	MOVQ	R13, pid+8(FP)
	MOVQ	$0, errno+16(FP)
	RET
failed:
	NEGQ	R13
	MOVQ	$0, pid+8(FP)
	MOVQ	R13, errno+16(FP)
	RET

	// Each process counts its steps in a register of its own: a twin shares
	// the memory.
child:
	MOVQ	56(R15), R13
run:
	TESTQ	R13, R13
	JZ	die
	TESTQ	$8, 56(R12) // serves
	JNZ	serve
	MOVQ	0(R12), AX
	MOVQ	8(R12), DI
	TESTQ	$2, 56(R12) // argumentAt
	JZ	direct
	MOVQ	(DI), DI
direct:
	MOVQ	16(R12), SI
	MOVQ	24(R12), DX
	MOVQ	32(R12), R10
	MOVQ	40(R12), R8
	MOVQ	48(R12), R9
	SYSCALL
	CMPQ	AX, $0xfffffffffffff001
	JCC	error
	MOVQ	64(R12), CX
	TESTQ	CX, CX
	JZ	noted
	MOVQ	AX, (CX)
noted:
	TESTQ	$4, 56(R12) // twins
	JZ	next
	TESTQ	AX, AX
	JNZ	next
	ADDQ	$72, R12
	DECQ	R13
next:
	ADDQ	$72, R12
	DECQ	R13
	JMP	run
error:
	TESTQ	$1, 56(R12) // mayFail
	JNZ	next
	NEGQ	AX
	MOVQ	AX, 64(R15)
	MOVQ	R13, 56(R15)
die:
	MOVQ	$231, AX // exit_group
	MOVQ	$253, DI
	SYSCALL
	JMP	die

	// A zygote makes children for the server, for as long as it lives. BX is its
	// post: 0 state, 8 call, 16 pid, 24 server.
serve:
	MOVQ	8(R12), BX
	MOVQ	$110, AX // getppid
	SYSCALL
	CMPQ	AX, 24(BX)
	JNE	die
	JMP	done
wait:
	MOVL	(BX), DX
	CMPL	DX, $1
	JEQ	job
	MOVQ	$202, AX // futex
	MOVQ	BX, DI
	MOVQ	$128, SI // FUTEX_WAIT | FUTEX_PRIVATE_FLAG
	XORL	R10, R10
	SYSCALL
	JMP	wait
job:
	MOVQ	8(BX), R15
	MOVQ	48(R15), R12
	MOVQ	0(R15), AX
	MOVQ	8(R15), DI
	MOVQ	16(R15), SI
	MOVQ	24(R15), DX
	MOVQ	32(R15), R10
	MOVQ	40(R15), R8
	SYSCALL
	TESTQ	AX, AX
	JZ	child
	MOVQ	AX, 16(BX)
done:
	MOVL	$2, AX
	XCHGL	AX, (BX)
	MOVQ	$202, AX
	MOVQ	BX, DI
	MOVQ	$129, SI // FUTEX_WAKE | FUTEX_PRIVATE_FLAG
	MOVQ	$1, DX
	SYSCALL
	JMP	wait
