package audit

// A command that fills the disk must not keep the ends of running commands off the
// trail, nor the refusals, nor the start of the `rm` that mends it. So the files of a
// trail that is written own blocks beyond their ends, which no other program can take
// (fallocate(2); systems and file systems without it have no reserve). Where the disk
// has room, the reserve is filled up again; its last part is for records of what has
// been started already.
const (
	reserveBytes = 1 << 20
	// reserveForEnds is what starts of commands leave.
	reserveForEnds = reserveBytes / 4
	// reserveShare: a reserve is made or filled up only on a disk with so many times
	// as much room.
	reserveShare = 16
)

// starter is a file with a reserve.
type starter interface {
	// mayStart fails if what is left of the reserve is for other records.
	mayStart() error
}

// mayStart reports an error if the disk is full and a command must not start.
func (t *Trail) mayStart() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f, ok := t.file.(starter); ok {
		return f.mayStart()
	}
	return nil
}
