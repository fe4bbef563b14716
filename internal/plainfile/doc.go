// Package plainfile reads files in places where others can put something else: a
// workspace, a home directory, a directory that a setting names.
//
// A reader that expects a file and finds a pipe waits for its writer, and one that finds
// a sparse file of a terabyte fills the memory. Here, whatever is no regular file is an
// error at once, and every text has a bound. The other packages open no file by its name
// without this one; the plan of the packages says which exceptions there are.
//
// A regular file on a file system that does not answer, as a network's, still keeps its
// reader waiting.
package plainfile
