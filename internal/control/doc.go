// Package control lets people of this machine see and answer the questions that
// a running server has open.
//
// Each server listens on a unix socket of its own, 0600 in the directory control
// (0700) of its state directory; who wants to answer finds the servers by listing
// that. The kernel says who is at the other end: the server's own user, or root.
// What a server has started, and what another tipstaff on this machine has
// started, is refused even so: a command must not approve of commands. (The
// sandbox hides the directory from commands; this holds where it is off.)
//
// One connection carries one request and one reply, a line of JSON each. Nothing
// else can be asked: the package runs nothing and changes no policy.
//
// Read next: server.go, then client.go; wire.go for what is said.
package control
