// Package control lets people on this machine see and answer the open questions
// of running servers.
//
// Each server listens on a unix socket of its own, with mode 0600, in the
// directory control (0700) of its state directory. A client finds the servers
// by listing that directory. The kernel identifies the client, which must run
// as the server's own user or as root. Processes that this server, or another
// tipstaff on this machine, has started are refused even so, because a command
// must not approve commands. (The sandbox hides the directory from commands;
// this check also works without a sandbox.)
//
// One connection carries one request and one reply, a line of JSON each. There
// are no other requests: the package runs nothing and changes no policy.
//
// Read next: server.go, then client.go; wire.go for the messages.
package control
