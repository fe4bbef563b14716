// Package cmdline splits command lines into words and writes words back as command
// lines, without a shell.
//
// [Read] holds one invariant: what it accepts is what a POSIX shell, or bash,
// would run as one simple command with the same arguments, if none of
// [Line.Patterns] matches a file. Exceptions, all of which stay literal: !; the
// positional and special parameters $1, $$, $?, $# and their like; and the word
// time, which bash reserves but which is a program too. Everything else that only a shell can do is refused with a
// [SyntaxError] that names it, its column and what to do instead. Nothing is
// expanded, and nothing is silently passed on. [Split] is Read for lines that no
// agent sends: to it, patterns, braces and ~ are text.
//
// [Quote] is the inverse for programs, [Display] the form for people.
//
// Read next: split.go, read.go, then oracle_test.go, which checks the invariant
// against dash and bash.
package cmdline
