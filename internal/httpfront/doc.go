// Package httpfront listens, and lets through to the protocol what it may hear:
// requests over TCP, TLS or a Unix socket, asked by a name of this server's, from
// a page that may ask if from any, by somebody who has shown who that is, not too
// many and not too large.
//
// It knows nothing of the protocol: what comes through goes to a handler, with
// the caller in its context ([identity.FromContext]).
//
// Read next: server.go for the way of a request, listen.go for where it comes
// from, then one file for each guard.
package httpfront
