// Package policydiff says which recorded commands two policy files decide
// differently, so that an operator knows what a change of the policy would have
// meant before it decides.
//
// It judges what the files say and nothing of a machine: no allowlists and roots of
// the environment, and paths by their text, from the recorded directory. The record
// holds commands with their secrets hidden and long arguments cut; a difference for
// which that may matter is marked. Commands that were never split into words cannot
// be judged and are counted.
//
// The package reads no file: its user hands it the records ([Comparison.Note] fits
// [trailread.Read]).
//
// Read next: policydiff.go, then judge.go.
package policydiff
