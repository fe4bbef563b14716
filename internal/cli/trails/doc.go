// Package trails opens trails for commands: those of a directory, one, or copies that a
// fleet keeps; and filters and describes them alike for all.
package trails
