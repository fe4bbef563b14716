// Package unixsocket listens at the path of a Unix socket, and says who is at the
// other end of a connection. Whether that user may ask is for its callers to say.
package unixsocket
