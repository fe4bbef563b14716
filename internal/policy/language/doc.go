// Package language reads the operator's policy file and judges commands by it. It
// is pure: [Load] gets bytes, and asks its caller for the files that these
// extend; [Policy.Judge] gets a command that is split into words, and asks
// [Facts] where a path leads.
//
// It knows nothing of requests, grants and programs that start others;
// internal/policy turns its verdicts into findings and asks about each layer of
// a wrapped command. docs/policy.md describes the file for people.
//
// Read next: file.go (the types of the file, from which its JSON Schema is
// made), decode.go (how they are read), pattern.go (the patterns of rules),
// whole.go and contains.go (the two ways in which they are matched), special.go
// (conditions on arguments).
package language
