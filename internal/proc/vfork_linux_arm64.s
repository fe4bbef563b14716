#include "textflag.h"

// func vfork(c *vforkCall) (pid, errno uintptr)
//
// See vfork_linux_amd64.s: the same steps, the same layout.
TEXT ·vfork(SB),NOSPLIT,$0-24
	MOVD	c+0(FP), R19
	// rt_sigprocmask(SIG_SETMASK, &block, &restore, 8)
	MOVD	$135, R8
	MOVD	$2, R0
	ADD	$72, R19, R1
	ADD	$80, R19, R2
	MOVD	$8, R3
	SVC
	MOVD	48(R19), R20
	MOVD	0(R19), R8
	MOVD	8(R19), R0
	MOVD	16(R19), R1
	MOVD	24(R19), R2
	MOVD	32(R19), R3
	MOVD	40(R19), R4
	SVC
	CBZ	R0, child

	MOVD	R0, R21
	MOVD	$135, R8
	MOVD	$2, R0
	ADD	$80, R19, R1
	MOVD	ZR, R2
	MOVD	$8, R3
	SVC
	CMN	$4095, R21
	BCS	failed
	MOVD	R21, pid+8(FP)
	MOVD	ZR, errno+16(FP)
	RET
failed:
	NEG	R21, R21
	MOVD	ZR, pid+8(FP)
	MOVD	R21, errno+16(FP)
	RET

	// Each process counts its steps in a register of its own: a twin shares
	// the memory.
child:
	MOVD	56(R19), R22
run:
	CBZ	R22, die
	MOVD	56(R20), R23
	TBNZ	$3, R23, serve // serves
	MOVD	0(R20), R8
	MOVD	8(R20), R0
	TBZ	$1, R23, direct // argumentAt
	MOVD	(R0), R0
direct:
	MOVD	16(R20), R1
	MOVD	24(R20), R2
	MOVD	32(R20), R3
	MOVD	40(R20), R4
	MOVD	48(R20), R5
	SVC
	CMN	$4095, R0
	BCS	error
	MOVD	64(R20), R24
	CBZ	R24, noted
	MOVD	R0, (R24)
noted:
	TBZ	$2, R23, next // twins
	CBNZ	R0, next
	ADD	$72, R20
	SUB	$1, R22
next:
	ADD	$72, R20
	SUB	$1, R22
	B	run
error:
	TBNZ	$0, R23, next // mayFail
	NEG	R0, R0
	MOVD	R0, 64(R19)
	MOVD	R22, 56(R19)
die:
	MOVD	$94, R8 // exit_group
	MOVD	$253, R0
	SVC
	B	die

	// A zygote makes children for the server, for as long as it lives. R25 is its
	// post: 0 state, 8 call, 16 pid, 24 server.
serve:
	MOVD	8(R20), R25
	MOVD	$173, R8 // getppid
	SVC
	MOVD	24(R25), R1
	CMP	R1, R0
	BNE	die
	B	done
wait:
	LDARW	(R25), R2
	CMPW	$1, R2
	BEQ	job
	MOVD	$98, R8 // futex
	MOVD	R25, R0
	MOVD	$128, R1 // FUTEX_WAIT | FUTEX_PRIVATE_FLAG
	MOVD	ZR, R3
	SVC
	B	wait
job:
	MOVD	8(R25), R19
	MOVD	48(R19), R20
	MOVD	0(R19), R8
	MOVD	8(R19), R0
	MOVD	16(R19), R1
	MOVD	24(R19), R2
	MOVD	32(R19), R3
	MOVD	40(R19), R4
	SVC
	CBZ	R0, child
	MOVD	R0, 16(R25)
done:
	MOVD	$2, R2
	STLRW	R2, (R25)
	MOVD	$98, R8
	MOVD	R25, R0
	MOVD	$129, R1 // FUTEX_WAKE | FUTEX_PRIVATE_FLAG
	MOVD	$1, R2
	SVC
	B	wait
