//go:build linux && (amd64 || arm64)

package proc

// step is one system call that a child makes between clone and exec. The
// assembly depends on its layout.
type step struct {
	trap   uintptr
	arg    [6]uintptr
	flags  uintptr
	result *uintptr // where to store what the call returns; nil: nowhere
}

// Flags of steps.
const (
	mayFail    = 1 // a failure is ignored
	argumentAt = 2 // the first argument is the address of the argument
	twins      = 4 // the call makes a process, which skips the next step
	serves     = 8 // not a call: the process becomes a zygote; the argument is the address of its post
)

// vforkCall contains what the assembly needs to make a child, and the results
// that the child stores. The assembly depends on its layout. The child writes
// to it, so it is on the heap and must be kept alive until vfork returns.
type vforkCall struct {
	trap    uintptr    // the system call that clones
	arg     [5]uintptr // its arguments
	steps   *step      // the steps of the child
	left    uintptr    // number of steps; after a failure, the number that were left
	errno   uintptr    // of the step that failed; 0 if none did
	block   uint64     // set of all signals
	restore uint64     // set of signals that were blocked before
}

// vfork makes a child that shares the memory of this process until it has
// carried out its steps or failed; until then, the calling thread is suspended.
// It returns the child's process id, or an errno.
//
//go:noescape
func vfork(c *vforkCall) (pid, errno uintptr)
