//go:build linux

package guard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"tipstaff/internal/paths"
)

// watcher receives changes from the kernel: inotify(7). Watches follow files,
// not names, so an item has one watch on itself and one on each directory above
// it, up to the directory that commands may write.
type watcher struct {
	fd   int // the inotify descriptor
	poke int // an eventfd, readable when leases are to be checked
	stop int // an eventfd, readable when the watch has ended
	over sync.WaitGroup

	mu    sync.Mutex // held while events are read and passed on: its holder knows that none is pending
	buf   [64 << 10]byte
	marks map[int32]map[*item]string // the name that counts in the watched directory; "": all names
	of    map[*item][]int32
	blind map[*item]bool // items that could not be watched completely
}

const (
	eventsAbove = unix.IN_ATTRIB | unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE | unix.IN_MOVE_SELF | unix.IN_DELETE_SELF | unix.IN_ONLYDIR
	eventsAt    = unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM |
		unix.IN_MOVE_SELF | unix.IN_DELETE_SELF
	eventsItself = unix.IN_ATTRIB | unix.IN_MOVE_SELF | unix.IN_DELETE_SELF
	// itself is the name to use when no entry of the directory counts.
	itself = "/"
)

func newWatcher() (*watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("cannot watch files: %w", err)
	}
	w := &watcher{fd: fd, poke: -1, stop: -1, marks: map[int32]map[*item]string{}, of: map[*item][]int32{}, blind: map[*item]bool{}}
	for _, event := range []*int{&w.poke, &w.stop} {
		if *event, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
			return nil, errors.Join(fmt.Errorf("cannot watch files: %w", err), unix.Close(fd), closed(w.poke))
		}
	}
	return w, nil
}

// close ends the watch. Afterwards, neither mark nor drain may be called.
func (w *watcher) close() error {
	_, err := unix.Write(w.stop, binary.NativeEndian.AppendUint64(nil, 1))
	w.over.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	err = errors.Join(err, unix.Close(w.fd), unix.Close(w.poke), unix.Close(w.stop))
	w.fd, w.poke, w.stop = -1, -1, -1
	return err
}

// drain passes on all events so far, and the items that cannot be watched.
func (w *watcher) drain(changed func(*item)) {
	w.pass(changed)
	w.mu.Lock()
	defer w.mu.Unlock()
	for it := range w.blind {
		changed(it)
	}
}

// pass reads events and passes them on.
func (w *watcher) pass(changed func(*item)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		n, err := unix.Read(w.fd, w.buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return
		}
		w.events(w.buf[:n], changed)
	}
}

func (w *watcher) events(b []byte, changed func(*item)) {
	for len(b) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(b))
		mask := binary.NativeEndian.Uint32(b[4:])
		size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
		name := strings.TrimRight(string(b[unix.SizeofInotifyEvent:size]), "\x00")
		b = b[size:]
		if mask&unix.IN_Q_OVERFLOW != 0 { // lost events may concern any item
			for it := range w.of {
				changed(it)
			}
			continue
		}
		for it, counts := range w.marks[wd] {
			if name == "" || counts == "" || name == counts {
				changed(it)
			}
		}
		if mask&unix.IN_IGNORED != 0 {
			delete(w.marks, wd)
		}
	}
}

// mark watches an item in its present state. It drops earlier watches of the
// item that are no longer needed.
func (w *watcher) mark(it *item, now content) ([]int32, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if it.dropped {
		return nil, nil
	}
	before := w.of[it]
	var list []int32
	var failure error
	add := func(path string, mask uint32, name string) {
		wd, err := w.add(path, mask)
		if err != nil {
			if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
				failure = errors.Join(failure, err)
			}
			return
		}
		if w.marks[wd] == nil {
			w.marks[wd] = map[*item]string{}
		}
		w.marks[wd][it] = name
		list = append(list, wd)
	}
	for path := it.Path; paths.Within(filepath.Dir(path), it.root); path = filepath.Dir(path) {
		add(filepath.Dir(path), eventsAbove|unix.IN_ATTRIB, filepath.Base(path))
		if filepath.Dir(path) == path {
			break
		}
	}
	switch {
	case now.form == nothing || now.form == unseen:
	case now.form == directory && it.Kind == Entry:
		add(it.Path, eventsItself, itself)
	default:
		add(it.Path, eventsAt, "")
		for _, below := range now.below() {
			add(filepath.Join(it.Path, below), eventsAt, "")
		}
	}
	w.of[it] = list
	if failure != nil {
		w.blind[it] = true
	} else {
		delete(w.blind, it)
	}
	w.drop(it, before, list)
	return list, failure
}

// add watches a path. It sets IN_MASK_ADD because another item may watch the
// same path, and not IN_EXCL_UNLINK because writes through an unlinked name
// count.
func (w *watcher) add(path string, mask uint32) (int32, error) {
	wd, err := unix.InotifyAddWatch(w.fd, path, mask|unix.IN_MASK_ADD|unix.IN_DONT_FOLLOW)
	if err != nil {
		return 0, fmt.Errorf("cannot watch %s: %w", path, err)
	}
	return int32(wd), nil
}

// forget removes all watches of an item.
func (w *watcher) forget(it *item) {
	w.mu.Lock()
	defer w.mu.Unlock()
	it.dropped = true
	before := w.of[it]
	delete(w.of, it)
	delete(w.blind, it)
	w.drop(it, before, nil)
}

// drop removes the watches in before that are not in kept. The caller holds
// w.mu.
func (w *watcher) drop(it *item, before, kept []int32) {
	keep := map[int32]bool{}
	for _, wd := range kept {
		keep[wd] = true
	}
	for _, wd := range before {
		if keep[wd] || w.marks[wd] == nil {
			continue
		}
		delete(w.marks[wd], it)
		if len(w.marks[wd]) == 0 {
			delete(w.marks, wd)
			_, _ = unix.InotifyRmWatch(w.fd, uint32(wd))
		}
	}
}
