// Package argv splits command lines into words and writes words back as
// command lines, without a shell.
//
// [Split] holds one invariant: what it accepts is what a POSIX shell would run
// as one simple command with the same arguments. Exceptions, all of which stay
// literal: globs, braces, ~ and !; the positional and special parameters $1,
// $$, $?, $# and their like; and the word time, which bash reserves but which
// is a program too. Whatever else only a shell could do is refused with a
// [SyntaxError] that names it, its column and the way out. Nothing is ever
// expanded and nothing is passed on in silence.
//
// [Quote] is the inverse for programs, [Display] the form for people.
//
// Read next: split.go, then oracle_test.go, which proves the invariant against
// dash and bash.
package argv
