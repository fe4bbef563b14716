//go:build !unix

package plainfile

// Here, no pipe has a name among files.
const nonBlocking, noFollow, directory = 0, 0, 0

func wouldBlock(error) bool { return false }
