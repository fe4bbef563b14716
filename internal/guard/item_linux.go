//go:build linux

package guard

import (
	"sync"
	"time"
)

// item is what is known of an [Item].
type item struct {
	Item
	root string // the directory above that commands may write

	mu       sync.Mutex // held while the item is looked at or changed
	accepted content
	replaced time.Time // when a pinned copy took its place
	linked   identity  // the file, or directory with one in it, that had more names than one
	kept     int       // copies of what was put back, since no command could have written it

	// Under Guard.mu.
	waits   bool          // something has happened to a late item
	again   bool          // something has happened since the last look began
	looking chan struct{} // closed when the look that is under way is over; nil: none is

	dropped   bool // under watcher.mu: it is not to be watched again
	leaseless bool // under leases.mu: no lease is to be taken again
}
