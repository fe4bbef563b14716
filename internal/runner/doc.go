// Package runner carries out what was granted: it starts the program exactly
// as the grant says, keeps a bounded part of its output, ends it with
// everything of its own when its time is up or its caller is gone, and tells
// how it ended.
//
// It asks nobody for permission and writes no record; both happened above, in
// internal/monitor.
//
// Read next: local.go.
package runner
