package main

// Numbers of system calls that are the same on all architectures.
const (
	numberPidfdSendSignal = 424
	numberIOURingSetup    = 425
	numberOpenTree        = 428
	numberMoveMount       = 429
	numberFsopen          = 430
	numberPidfdOpen       = 434
	numberClone3          = 435
	numberOpenat2         = 437
	numberPidfdGetfd      = 438
	numberProcessMadvise  = 440
	numberMountSetattr    = 442
	numberLandlockCreate  = 444
	numberFchmodat2       = 452
	numberFileSetattr     = 469

	numberOfNoCall = 4000 // higher than any number in use
)
