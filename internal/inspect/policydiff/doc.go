// Package policydiff says which recorded commands two policy files decide
// differently, so that an operator sees the effect of a changed policy before
// it is in force.
//
// It judges only what the files say, nothing about a machine: it ignores the
// allowlists and roots of the environment, and judges paths by their text,
// relative to the recorded directory. The record holds commands with their
// secrets hidden and long arguments cut; a difference that may depend on that
// is marked. Commands that were never split into words cannot be judged and are
// counted.
//
// The package reads no file: its caller passes it the records
// ([Comparison.Note] fits [query.Read]).
//
// Read next: policydiff.go, then judge.go.
package policydiff
