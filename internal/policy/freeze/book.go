package freeze

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"

	"tipstaff"
)

// Book reads who is frozen from the file of a state directory. Its methods may be
// called from several goroutines at once. A nil Book freezes nobody.
type Book struct {
	path string
	// Others returns the entries of a fleet, which count besides those of the file. It
	// is set before the first use; nil: there are none.
	Others func() ([]Entry, error)
	// OnChange is called when another content was read, on a goroutine of its own. It
	// is set before the first use; nil: nothing is called.
	OnChange func(all []Entry)

	mu      sync.Mutex
	info    fs.FileInfo // the file that was read; nil: there was none
	read    bool
	entries []Entry
	fault   error
}

// NewBook returns the book of a directory, that of the control sockets. Nothing needs
// to exist there.
func NewBook(dir string) *Book { return &Book{path: pathIn(dir)} }

// Of returns the entry that freezes a request, if there is one. After an error
// nothing may run, because a frozen caller cannot be told from others.
func (b *Book) Of(o tipstaff.Origin, s tipstaff.SessionID) (e Entry, frozen bool, err error) {
	all, err := b.Entries()
	if err != nil {
		return Entry{}, false, err
	}
	i := slices.IndexFunc(all, func(e Entry) bool { return e.Holds(o, s) })
	if i < 0 {
		return Entry{}, false, nil
	}
	return all[i], true, nil
}

// Entries returns who is frozen now, the oldest first. The caller does not change it.
func (b *Book) Entries() ([]Entry, error) {
	if b == nil {
		return nil, nil
	}
	all, err := b.readFile()
	if err != nil || b.Others == nil {
		return all, err
	}
	more, err := b.Others()
	if err != nil || len(more) == 0 {
		return all, err
	}
	all = slices.Concat(all, more)
	slices.SortStableFunc(all, func(a, b Entry) int { return a.At.Compare(b.At) })
	return all, nil
}

// readFile returns the entries of the file, read again if it has changed. Its
// error stays until the file can be read.
func (b *Book) readFile() ([]Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	info, err := os.Lstat(b.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		b.info, b.read, b.entries, b.fault = nil, true, nil, nil
	case err != nil:
		b.read, b.fault = false, unreadable(err)
	case !b.read || b.fault != nil || b.info == nil || !same(b.info, info):
		// What was looked at first is older than what is read: a change between the
		// two is read once more.
		b.entries, b.fault = read(b.path)
		b.info, b.read = info, true
		if b.OnChange != nil && b.fault == nil {
			go b.OnChange(b.entries)
		}
	}
	return b.entries, b.fault
}

// same reports whether a file is the one that was read. It is never written in place:
// another content is another file, made while the old one was there.
func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode()
}
