// Package guard protects files in a workspace that steer programs outside of the
// sandbox: git's configuration and hooks, start-up files, the settings of editors
// and agents.
//
// Where there are namespaces, read-only mounts ("pins") keep commands from these
// files, and this package is the door in them: git changes its configuration by
// renaming config.lock, the kernel asks the server about that rename (see
// [Guard.Supervise]), and the server makes the change itself if it names no
// program. The new file is pinned before it is seen, and no command has ever had a
// descriptor of it. The door is no wall: what it lets through the kernel looks at
// again, and the pin answers EBUSY.
//
// What cannot be pinned is watched (inotify): repositories that commands make,
// files that lead git elsewhere and do not exist yet, files that a person replaces
// (a rename outside detaches the mount on the old file), and everything in the
// tier landlock. A change that nobody but a person can have made is taken over. One
// that a command may have made is judged: what names no program is taken over, all
// else is put back at once, kept aside, reported, and ends the commands that could
// have written it. Read leases tell of a file that is opened for writing, because
// inotify hears of no write through a memory mapping. Watching comes after the fact,
// by a fraction of a millisecond: a program that polls the file can be quicker.
//
// Haste decides here. One thread hears of changes and puts files back itself; it has
// short turns of the processor and waits outside of the runtime's poller. A server in
// which more goroutines are busy than the runtime has processors keeps it waiting all
// the same: give the runtime one more than the machine has.
//
// The package starts no process and makes no mount; who pins files is told by an
// interface ([Binder]). Read next: item.go, settle_linux.go, broker_linux.go.
package guard
