// Package serve has the command that clients start.
package serve
