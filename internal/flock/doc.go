// Package flock locks files against other processes, by flock(2). The system ends a lock
// when its process ends, however it ends: so a process that is dead can be told from one
// that lives.
//
// A lock belongs to the open file. It ends when the file is closed, and with it all
// copies that other processes were given. Two files that were opened apart exclude each
// other in one process, too.
//
// Systems other than Unix have no such locks. There every function returns
// [errors.ErrUnsupported].
package flock
