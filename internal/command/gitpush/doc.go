// Package gitpush says which refs of another repository a command line of git
// would update: it reads options and refspecs of git push as git does, and what
// they leave open it takes from the settings and refs of the repository, which
// its caller reads.
//
// It errs in one direction. An [Update] names every ref that git might update
// by it, or patterns that take them in. What is not understood whole (an option
// that it does not know, a repository that could not be read, a command of
// others that pushes) is a push that may do anything: [Push.Whole] is false, and
// the one update takes in every ref, forced, and to be removed.
//
// Three things it does not reckon with, because they need another repository
// that is set up for it: branches there that are themselves called
// refs/heads/…, a server that gives a pushed ref another meaning, and what
// submodules push where the settings ask for that (then the push is not
// understood).
//
// Read next: read.go (from words to a [Push]), refspec.go (destinations),
// source.go (sources, which may be destinations), names.go (how names are
// compared with an operator's pattern).
package gitpush
