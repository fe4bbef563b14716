// Package fleet says which runners there are, which of them takes a new session,
// and where a session is that exists.
//
// A runner holds a lease ([Runner]): what it is and how full. Gateways watch all
// leases ([List]) and choose by them; the runner has the last word
// ([Runner.Admit]). Nothing is locked, and no queue is shared. A lease is no
// permission to run: while JetStream is away, the last list serves and everything
// that runs goes on.
//
// A session's address is sealed in its id ([AddressCipher]), so any gateway finds it
// without a directory.
//
// No clock decides over a peer. A gateway writes a pulse of its own beside the
// leases, every five seconds, and a lease is gone when so many pulses have come
// back in the watch since its last renewal. A gateway that was stopped, is cut
// off, or has no JetStream sees no pulses, and so declares no peer dead.
//
// Whom operators have frozen, each member knows by what they have signed ([Freezes]).
//
// Read next: address_cipher.go, lease.go, runner.go, list.go, place.go, freezes.go.
package fleet
