// Package freeze knows whose commands a person has frozen: agents, tasks, sessions,
// clients and principals whose commands are all refused until the freeze is lifted.
//
// One file in the state directory holds it for all servers there, and for those that
// start later. It is replaced whole and at once, with mode 0600, in the directory of
// the control sockets, which the sandbox hides from commands. A [Book] reads it for
// each decision; while the file is the same, that costs one look at its inode.
//
// In a fleet, operators freeze for all hosts: see [Book.Others].
//
// A file that cannot be read or understood freezes everybody. No file freezes nobody.
// The package ends nothing, and records nothing.
//
// Read next: book.go, file.go, target.go.
package freeze
