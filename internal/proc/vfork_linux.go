//go:build linux && (amd64 || arm64)

package proc

// step is one system call that a child makes between clone and exec. The
// assembly knows its layout.
type step struct {
	trap   uintptr
	arg    [6]uintptr
	flags  uintptr
	result *uintptr // where to put what the call returns; nil: nowhere
}

// flags of steps.
const (
	mayFail    = 1 // a failure changes nothing
	argumentAt = 2 // the first argument is the address of the argument
	twins      = 4 // the call makes a process; the new one leaves out the next step
	serves     = 8 // no call: the process serves at the post that the argument is the address of
)

// vforkCall is what the assembly needs to make a child and what the child
// tells of itself. The assembly knows its layout, and the child writes to it,
// so it lies on the heap and is kept alive until vfork returns.
type vforkCall struct {
	trap    uintptr    // the system call that clones
	arg     [5]uintptr // its arguments
	steps   *step      // what the child does
	left    uintptr    // how many there are; how many were left when one failed
	errno   uintptr    // of the step at which the child failed; 0 if it did not
	block   uint64     // every signal
	restore uint64     // what was blocked before
}

// vfork makes a child that shares the memory of this process until it has
// carried out its steps or failed; meanwhile the calling thread stands still.
// It returns the child's process id, or why there is none.
//
//go:noescape
func vfork(c *vforkCall) (pid, errno uintptr)
