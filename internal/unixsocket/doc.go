// Package unixsocket listens at the path of a Unix socket. Who is at the other end of a
// connection, internal/peer says.
package unixsocket
