// Package argv splits command lines into words and writes words back as command
// lines, without a shell.
//
// [Split] holds one invariant: what it accepts is what a POSIX shell would run
// as one simple command with the same arguments. Exceptions, all of which stay
// literal: globs, braces, ~ and !; the positional and special parameters $1,
// $$, $?, $# and their like; and the word time, which bash reserves but which
// is a program too. Everything else that only a shell can do is refused with a
// [SyntaxError] that names it, its column and what to do instead. Nothing is
// expanded, and nothing is silently passed on.
//
// [Quote] is the inverse for programs, [Display] the form for people.
//
// Read next: split.go, then oracle_test.go, which checks the invariant against
// dash and bash.
package argv
