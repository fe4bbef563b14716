// Package monitor is the one road: every command of every front goes through
// [Monitor.Execute], which decides, records, runs and records again, in this
// order. The order is the security argument of the program, so it is one
// short function.
//
// Read next: monitor.go.
package monitor
