// Package httpserver listens for HTTP requests and passes on to the protocol
// only those that it may see. It accepts TCP, TLS and Unix sockets. A request
// must name this server, must come from an authenticated caller, must not come
// from a web page of another origin unless the operator allows that, and must
// be within the limits of rate, number and size.
//
// It knows nothing of the protocol: requests go to a handler, with the caller
// in their context ([authn.FromContext]).
//
// Read next: server.go for the path of a request, listen.go for where requests
// come from, then one file for each check.
package httpserver
