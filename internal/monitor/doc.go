// Package monitor is the one execution path: every command goes through
// [Monitor.Execute], which decides, records, runs and records again, in this
// order. A command whose caller a person has frozen is refused before the first
// step. An external decider, if there is one, is asked before the first record. The
// order is the security argument of the program, so Execute is one short function.
//
// Read next: monitor.go.
package monitor
