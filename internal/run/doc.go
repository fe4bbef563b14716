// Package run carries out grants: it starts the program exactly as the grant
// says, keeps a bounded part of its output, ends it and everything that it
// started when its time is up or its caller is gone, and reports how it ended.
//
// It asks for no permission and writes no record; internal/monitor did both
// before.
//
// Read next: local.go.
package run
