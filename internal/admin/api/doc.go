// Package api lets people see what running servers do, follow what their commands
// print, end commands and sessions, freeze callers, and answer open questions: on this
// machine by sockets, and on all machines of a fleet over the engine.
//
// Each server listens on a unix socket of its own, with mode 0600, in the
// directory control (0700) of its state directory. A client finds the servers
// by listing that directory. The kernel identifies the client, which must run
// as the server's own user or as root. Processes that this server, or another
// tipstaff on this machine, has started are refused even so, because a command
// must not approve commands. (The sandbox hides the directory from commands;
// this check also works without a sandbox.)
//
// One connection carries one request and one reply, a line of JSON each; to follow a
// command, many replies. Requests are bounded in size and number. Who follows reads at
// its own pace what the spool keeps, in a place apart from those of other requests: a
// slow reader holds up no command and no other client.
//
// The package runs nothing and changes no policy. What a person can do here only takes
// away: a server's [Service] ends things, and refuses.
//
// In a fleet a [Member] answers the same requests over the engine. They come from
// operators: each is signed by a key that the operator of this machine has written
// down, for this one recipient, with the name of the person. A [Fleet] asks all members
// at once. What a command prints is pulled, one event after another, because the engine
// may lose messages.
//
// Read next: server.go, service.go, stream.go, serve_act.go for servers; now.go,
// follow.go, act.go, client.go for clients; wire.go for the messages; member.go and
// fleet.go for fleets.
package api
