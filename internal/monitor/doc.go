// Package monitor is the one road: every command of every front goes through
// [Monitor.Execute], which decides, records, runs and records again, in this
// order. A decider outside, if there is one, has its say before the record. The order is the security argument of the program, so it is one
// short function.
//
// Read next: monitor.go.
package monitor
