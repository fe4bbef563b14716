//go:build linux

package guard

import "sync"

// item is what is known of an [Item].
type item struct {
	Item
	root string // the directory above that commands may write

	mu       sync.Mutex // held while the item is looked at or changed
	accepted content

	// Under Guard.mu.
	waits   bool          // something has happened to a late item
	again   bool          // something has happened since the last look began
	looking chan struct{} // closed when the look that is under way is over; nil: none is
}
