// Package load reads the operator's policy file from the disk, with
// everything that it extends, runs the file's own tests, and says what is
// doubtful in it.
//
// It trusts a file only if no other user could have written it
// ([facts.ReadTrusted]), and refuses one that changes while it is read. A file
// that cannot be used gives an error and no rules, never some of its rules.
//
// The package decides nothing (that is internal/policy) and watches nothing
// (that is internal/server/reload).
//
// Read next: read.go, then check.go.
package load
