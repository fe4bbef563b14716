//go:build linux

package guard

import (
	"sync"
	"time"
)

// item is an [Item] and its state.
type item struct {
	Item
	root string // the directory above it that commands may write

	mu       sync.Mutex // held while the item is read or changed
	accepted content
	replaced time.Time // when a pinned copy replaced it
	bound    bool      // a pinned copy has replaced it
	linked   identity  // the file (or directory with a file in it) that had several names
	kept     int       // copies kept of content that was put back; see mostKept

	// Guarded by Guard.mu.
	waits   bool          // a late item has changed and is not checked yet
	again   bool          // it has changed since the last check began
	looking chan struct{} // closed when the check under way ends; nil: none is

	dropped   bool // guarded by watcher.mu: do not watch it again
	leaseless bool // guarded by leases.mu: take no further lease
}
