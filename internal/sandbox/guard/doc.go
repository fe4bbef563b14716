// Package guard protects files in a workspace that steer programs outside of
// the sandbox: git's configuration and hooks, start-up files, the settings of
// editors and agents.
//
// Where the sandbox uses namespaces, read-only mounts ("pins") keep commands
// from writing these files. Git changes its configuration by renaming
// config.lock over it. The kernel asks the server about that rename (see
// [Guard.Supervise]), and the server makes the change itself if the new text
// names no program. The new file is pinned before it becomes visible, and no
// command has ever had a descriptor of it. Supervise alone protects nothing: a
// rename that it lets through still meets the pin, and the kernel answers
// EBUSY.
//
// Files that cannot be pinned are watched (inotify): repositories that commands
// make, files that lead git elsewhere and do not exist yet, files that a person
// replaces (a rename outside detaches the mount on the old file), and all files
// in the landlock tier. A change that only a person can have made is accepted.
// A change that a command may have made is judged: if it names no program, it
// is accepted; otherwise the file is restored at once, the new content is kept
// aside and reported, and the commands that could have written it are ended.
// Read leases report a file that is opened for writing, because inotify does
// not report writes through a memory mapping. Watching comes after the fact, by
// a fraction of a millisecond: a program that polls the file can be faster.
//
// This makes latency matter. One thread receives events and restores files
// itself; it has short time slices and waits outside of the runtime's poller.
// If more goroutines are busy than the runtime has processors, that thread
// still has to wait: set GOMAXPROCS to one more than the number of processors.
//
// The package starts no process and mounts nothing; it pins files through
// [Binder]. Read next: item_linux.go, settle_linux.go, broker_linux.go.
package guard
