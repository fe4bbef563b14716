//go:build linux

package sandbox

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff"
)

// The temporary files of commands share a disk with the records, so each session
// sandbox has a bound. Quotas and file systems of a fixed size need privileges that
// the server has in neither tier, and a file system in memory would take the memory
// that all programs share. So the server measures while commands run, and ends the
// commands of a session sandbox that has too much.
//
// Measuring walks through all files. The server does it only once the free space of
// the disk, which one system call returns, has shrunk by half of what the fullest
// session sandbox may still write; a command that writes little is never slowed
// down. Until the server notices, a command can fill the disk for some tenths of a
// second; the reserve of the trail lets all other commands go on meanwhile.

const (
	// temporaryPause is how often the free space is asked for.
	temporaryPause = 100 * time.Millisecond
	// temporaryRest is how long the files may go unmeasured: free space that others
	// make on the disk hides what commands write. It is longer if measuring takes long.
	temporaryRest  = 5 * time.Second
	temporaryShare = 50
)

// maxTemporary and temporaryPart are the bound unless the settings say another one:
// so many bytes, and at most this part of what is free.
const (
	maxTemporary  = 2 << 30
	temporaryPart = 10
)

// tempWatch is the watch over the temporary files of all session sandboxes.
type tempWatch struct {
	bound int64          // bytes, for each session sandbox
	ended chan struct{}  // closed by close
	work  sync.WaitGroup // the goroutine that measures, as long as commands run

	mu       sync.Mutex
	watching bool // there is such a goroutine
	closed   bool
	commands map[*Confined]bool
	free     int64 // when the files were measured, or more since
	margin   int64 // by which the free space may shrink before they are measured again
	at       time.Time
	cost     time.Duration
}

// newTemporary returns a watch with the bound of the settings, or else that of a disk.
func newTemporary(most int64, dir string) *tempWatch {
	if most <= 0 {
		most = maxTemporary
		if free, ok := freeOn(dir); ok {
			most = min(most, free/temporaryPart)
		}
	}
	return &tempWatch{bound: most, margin: most / 2, commands: map[*Confined]bool{}, ended: make(chan struct{})}
}

// freeOn returns the free bytes of the file system with a directory.
func freeOn(dir string) (bytes int64, ok bool) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0, false
	}
	return int64(st.Bavail) * st.Frsize, true
}

// bound puts a command under the watch, until its Release.
func (s *Sandbox) bound(c *Confined) {
	t := s.temporary
	t.mu.Lock()
	defer t.mu.Unlock()
	t.commands[c] = true
	if !t.watching && !t.closed {
		t.watching = true
		t.work.Go(s.watchTemporary)
	}
}

func (s *Sandbox) unbound(c *Confined) {
	t := s.temporary
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.commands, c)
}

// watchTemporary measures while commands run, and once more after the last one.
func (s *Sandbox) watchTemporary() {
	t := s.temporary
	tick := time.NewTicker(temporaryPause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-t.ended:
			return
		}
		s.measureIfDue()
		t.mu.Lock()
		t.watching = len(t.commands) > 0
		over := !t.watching
		t.mu.Unlock()
		if over {
			return
		}
	}
}

// close ends the watch.
func (t *tempWatch) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	close(t.ended)
	t.work.Wait()
}

// due reports whether the files have to be measured.
func (t *tempWatch) due(free int64, known bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free = max(t.free, free)
	return !known || t.free-free >= t.margin || time.Since(t.at) >= max(temporaryRest, temporaryShare*t.cost)
}

// measureIfDue measures the temporary files of every session with a running
// command once the free space has shrunk by the margin or enough time has
// passed, and ends the commands of sessions that hold too much. Measuring walks
// whole trees, so the margin is half of what the fullest session may still
// write: a session is measured before it passes its bound by much, and a quiet
// disk is rarely walked.
func (s *Sandbox) measureIfDue() {
	t := s.temporary
	free, known := freeOn(s.scratch.dir)
	if !t.due(free, known) {
		return
	}
	began := time.Now()
	t.mu.Lock()
	all := map[*sessionSandbox][]*Confined{}
	for c := range t.commands {
		all[c.session] = append(all[c.session], c)
	}
	t.mu.Unlock()
	margin := t.bound / 2
	for sess, commands := range all {
		used, ok := s.temporaryBytes(sess, commands, t.ended)
		if !ok {
			return
		}
		margin = min(margin, max((t.bound-used)/2, t.bound/temporaryMargins))
		sess.limitTemporary(used, t.bound, commands)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free, t.margin, t.at, t.cost = free, margin, time.Now(), time.Since(began)
}

// temporaryMargins: the bound is exceeded by one of so many parts before it is noticed.
const temporaryMargins = 32

// limitTemporary ends the commands of a session sandbox with too many temporary files.
// Later ones may run nevertheless, to remove some, as long as there are not more.
func (sess *sessionSandbox) limitTemporary(used, most int64, commands []*Confined) {
	sess.mu.Lock()
	over := used > max(most, sess.tolerated)
	switch {
	case over:
		sess.tolerated = used + most/temporaryMargins
	case used <= most:
		sess.tolerated = 0
	}
	sess.mu.Unlock()
	for _, c := range commands {
		if over && c.tooMuch.CompareAndSwap(0, used) {
			c.stop()
		}
	}
}

// explainTemporary tells of a command that was ended for its temporary files.
func (c *Confined) explainTemporary(r *tipstaff.Result) {
	used := c.tooMuch.Load()
	if used == 0 || r.Cause != tipstaff.Cancelled {
		return
	}
	r.Cause = tipstaff.TemporaryLimit
	r.Refusals = append(r.Refusals, fmt.Sprintf("It was ended by the limit of temporary files, %d bytes for all commands of a session together, which had %d. Remove what is not needed from $TMPDIR; large files belong in the workspace. The operator sets it with TIPSTAFF_LIMIT_TEMPORARY_BYTES.",
		c.sandbox.temporary.bound, used))
}
