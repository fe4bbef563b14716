// Package interp interprets scripts as Bash 5.2 does with bash -c, and starts
// nothing: each program is asked for from a [Host], with the words and
// descriptors that it gets.
//
// The grammar is mvdan.cc/sh/v3/syntax. That module's interpreter is not used:
// it differs from Bash without a word, in places that its caller cannot reach.
// Some of what it does, of version 3.14.1: "a $@ b" is one word, ${x:-$(cmd)} runs
// cmd even if x is set, set -e holds within $(…) and is forgotten within
// (…) || …, x=1+2 is 0 in $((x)), IFS=: drops empty fields, ${x#"*"} takes the
// star for a pattern, and descriptors from 3 on do not exist.
//
// Subshells are goroutines with copies of what they may change, so nothing here
// forks. What that makes impossible, or what is not worth its code, is refused by
// name: internal/command/scan refuses it before a script runs, the commands here what
// only the run can know.
//
// What differs from Bash, and is not refused: a job that is no single program has
// a number that no process has; kill of such a job ends the programs in it, too;
// pipelines start their programs in no certain order, as Bash's do; wording of
// errors; and what testdata/differences.txt lists. The scripts of testdata/same run
// in Bash and here, and come to the same.
//
// Read next: run.go, statement.go and call.go for commands, word.go and part.go
// for expansions, builtin.go, host.go.
package interp
