//go:build linux

package guard

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff/internal/command/gitconfig"
)

// Call is a system call of a command that the kernel holds until it is
// answered; see [proc.Call].
//
//nolint:interfacebloat // one call: its arguments and its possible answers
type Call interface {
	Number() int
	Argument(i int) uint64
	Text(address uint64) (string, error)
	OpenDir(dirfd int32, path string) (int, error)
	Valid() bool
	Continue()
	Return(errno syscall.Errno)
}

// Supervise answers a call of rename, renameat or renameat2. It lets nearly all
// of them through at once. A rename that turns a lock file into a git
// configuration is judged on a goroutine of its own; if it is refused,
// Supervise calls refused with the reason before it answers.
func (g *Guard) Supervise(c Call, refused func(why string)) {
	r, ours := renameOf(c)
	if !ours {
		c.Continue()
		return
	}
	// Only the last element of the path decides. If another thread changes the
	// path after it was read here, the pin still refuses the rename.
	name, err := c.Text(r.to)
	if err != nil || !configNames[path.Base(name)] {
		c.Continue()
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		c.Continue()
		return
	}
	g.work.Go(func() { g.decide(c, r, refused) })
}

// configNames are the names of files that git replaces by renaming a lock file,
// and that can name programs.
var configNames = map[string]bool{"config": true, "config.worktree": true}

// rename holds the decoded arguments of a call of the rename family.
type rename struct {
	fromDir, toDir int32
	from, to       uint64 // addresses in the caller's memory
	flags          uint64
}

func renameOf(c Call) (r rename, ours bool) {
	switch n := c.Number(); {
	case n == unix.SYS_RENAMEAT2:
		return rename{int32(c.Argument(0)), int32(c.Argument(2)), c.Argument(1), c.Argument(3), c.Argument(4)}, true
	case n == unix.SYS_RENAMEAT:
		return rename{int32(c.Argument(0)), int32(c.Argument(2)), c.Argument(1), c.Argument(3), 0}, true
	case oldRename != 0 && n == oldRename:
		return rename{unix.AT_FDCWD, unix.AT_FDCWD, c.Argument(0), c.Argument(1), 0}, true
	}
	return rename{}, false
}

// mostJudging is the longest time that a command waits for its rename.
const mostJudging = 2 * time.Second

// States of a call that is being judged.
const (
	judging int32 = iota
	changing
	answered
)

// decide answers one rename. Either the call times out or the change is made,
// never both.
func (g *Guard) decide(c Call, r rename, refused func(why string)) {
	var state atomic.Int32
	timer := time.AfterFunc(g.patience, func() {
		if state.CompareAndSwap(judging, answered) {
			c.Return(unix.EIO)
		}
	})
	defer timer.Stop()
	a := g.judgeRename(c, r, &wait{c, &state})
	if state.Swap(answered) == answered {
		return // its time was up
	}
	if a.why != "" {
		refused(a.why)
	}
	if a.let {
		c.Continue()
		return
	}
	c.Return(a.errno)
}

// wait identifies a command that waits for its rename.
type wait struct {
	call  Call
	state *atomic.Int32
}

// lasts reports whether the command still waits.
func (w *wait) lasts() bool { return w.call.Valid() && w.state.Load() == judging }

// commit is called right before the change is made. If it returns true, the
// call can no longer time out.
func (w *wait) commit() bool {
	return w.call.Valid() && w.state.CompareAndSwap(judging, changing)
}

// answer is the outcome of a rename.
type answer struct {
	let   bool // the kernel carries the rename out
	errno syscall.Errno
	why   string // why it was refused; "" if it was not
}

var letThrough = answer{let: true}

func (g *Guard) judgeRename(c Call, r rename, w *wait) answer {
	from, err := c.Text(r.from)
	to, err2 := c.Text(r.to)
	if err != nil || err2 != nil || r.flags != 0 || path.Base(from) != path.Base(to)+".lock" {
		return letThrough
	}
	dir, ok := sameDirectory(c, r, from, to)
	if !ok || !c.Valid() {
		return letThrough
	}
	defer func() { _ = unix.Close(dir.fd) }()
	it := g.find(filepath.Join(dir.path, path.Base(to)))
	if it == nil {
		g.announce(dir.path, path.Base(to))
		if it = g.find(filepath.Join(dir.path, path.Base(to))); it == nil {
			return letThrough // where no command may write, the kernel refuses the rename
		}
	}
	if it.Kind != Config {
		return letThrough
	}
	g.watch.drain(g.changed)
	g.settle(it) // so that the accepted text is the newest one
	it.mu.Lock()
	defer it.mu.Unlock()
	return g.pass(it, dir, path.Base(from), w)
}

// place is a directory that a process has named.
type place struct {
	fd   int
	path string // outside of the sandbox
}

// sameDirectory opens the directory of both names; ok is false if they lie in
// different ones.
func sameDirectory(c Call, r rename, from, to string) (d place, ok bool) {
	one, err := c.OpenDir(r.fromDir, path.Dir(from))
	if err != nil {
		return d, false
	}
	defer func() { _ = unix.Close(one) }()
	two, err := c.OpenDir(r.toDir, path.Dir(to))
	if err != nil {
		return d, false
	}
	defer func() { _ = unix.Close(two) }()
	var a, b unix.Stat_t
	if unix.Fstat(one, &a) != nil || unix.Fstat(two, &b) != nil || a.Dev != b.Dev || a.Ino != b.Ino {
		return d, false
	}
	// The descriptor belongs to the command's mount namespace. Where commands
	// may write, its path is the same outside, and must lead to the same
	// directory.
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", two))
	if err != nil {
		return d, false
	}
	fd, err := openDir(name)
	if err != nil {
		return d, false
	}
	var out unix.Stat_t
	if unix.Fstat(fd, &out) != nil || out.Dev != b.Dev || out.Ino != b.Ino {
		_ = unix.Close(fd)
		return d, false
	}
	return place{fd, name}, true
}

// pass lets the new text of a configuration through or refuses it. The caller
// holds it.mu.
func (g *Guard) pass(it *item, dir place, lock string, w *wait) answer {
	proposed := readAt(dir.fd, lock, 0)
	if proposed.form != file || !proposed.whole() {
		return letThrough // the pin, or the next check of the item, decides
	}
	if why := g.judge(it, proposed); why != "" {
		return answer{errno: unix.EPERM, why: fmt.Sprintf("%s stays as it is: %s", it.Path, strings.TrimSuffix(why, "."))}
	}
	// An item that perTree has pinned may be registered once more by a rescan that began
	// before, as one without a pin. The pin still lies there.
	if !it.Pinned && !it.bound || it.Stage == "" {
		return letThrough
	}
	if err := g.perTree(it, proposed, w.lasts); err != nil {
		return answer{errno: unix.EIO, why: fmt.Sprintf("%s stays as it is: %v", it.Path, err)}
	}
	if err := g.replace(it, proposed, it.accepted, w.commit); err != nil {
		g.o.Log.Error("a configuration of git could not be changed in place of a command", "file", it.Path, "error", err)
		return answer{errno: unix.EIO}
	}
	if now := readAt(dir.fd, lock, mostDepth); now.id == proposed.id {
		_ = unix.Unlinkat(dir.fd, lock, 0)
	}
	return answer{}
}

// perTree pins an empty config.worktree before a configuration makes git read
// it: a pin needs an existing file.
func (g *Guard) perTree(it *item, proposed content, lasts func() bool) error {
	entries, err := gitconfig.Parse(proposed.text)
	if err != nil || !gitconfig.SettingsOf(entries).WorktreeConfig {
		return nil
	}
	tree := g.find(filepath.Join(it.GitDir, "config.worktree"))
	if tree == nil || tree == it {
		return nil
	}
	tree.mu.Lock()
	defer tree.mu.Unlock()
	if tree.Pinned {
		return nil
	}
	now := tree.read()
	if why := g.judge(tree, now); why != "" || now.form != file && now.form != nothing {
		return fmt.Errorf("%s would be read: %s", tree.Path, why)
	}
	text := now
	text.mode, text.owner = it.accepted.mode, it.accepted.owner
	g.pinsIn(tree.root) // before there is a pin: see PinnedSince
	if err := g.replace(tree, text, now, lasts); err != nil {
		return err
	}
	tree.Pinned = true
	return nil
}
