// Package credentials lends single commands what the operator's programs sign in
// with, where a rule of the policy says so: the passwords of git for the hosts of a
// repository's remotes, and signatures by the keys of an SSH agent. The command
// never has the keys, the agent's socket or the operator's credential helpers; it
// has a connection to this package (internal/sandbox makes it, see sandbox.Door),
// and that gives out what the rule lends and nothing else.
//
// It refuses to add, remove or lock keys, to sign for a connection that another
// machine forwards, to name a password for a host that is no remote, and to store or
// erase one.
//
// git's own credential-cache is the client: git speaks to it, and it passes the
// question on to a socket. So nothing of tipstaff runs in the sandbox.
//
// Read next: lent.go (what one command is lent), agent.go and helper.go (what is
// spoken), remotes.go (which hosts), fill.go (how the operator's git is asked).
package credentials
