// Package clean makes what a command printed into what a model reads: control
// sequences applied or removed, repeated lines folded, bytes that are no text
// described, and the whole cut to a bound. [Show] is all of it; [Clean] and
// [Valid] are its parts for one piece of output.
//
// The package is pure. It works on what was kept of a stream; how much that is,
// internal/output/capture says. It never shows less than a terminal would because of a
// sequence that does not end: such a sequence loses its first bytes, and the
// rest of the output stays.
package clean
