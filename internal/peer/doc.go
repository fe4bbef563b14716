// Package peer says who is at the other end of a connection within this machine, as the
// kernel reports it: which user, and whether it is a command that a tipstaff has started.
// Whether that user may ask is for its callers to say.
//
// Read next: unix.go for Unix sockets, tcp_linux.go for connections that were accepted on
// the loopback, dial.go for those that are made to it.
package peer
