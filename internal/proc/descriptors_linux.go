package proc

import "golang.org/x/sys/unix"

// enoughDescriptors is more than a server has open at its start, and than the calls of a
// few clients take.
const enoughDescriptors = 1000

// GrowDescriptors makes the table of descriptors as large as it will be needed. The kernel
// doubles it whenever it is full, and where threads share it whoever asks for the next
// descriptor waits for a grace period: 5 to 16 ms, each time. Only the room is taken.
func GrowDescriptors() {
	fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, enoughDescriptors)
	if err == nil {
		_ = unix.Close(fd)
	}
}
