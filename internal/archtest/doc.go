// Package archtest holds the code to its plan. floors.txt says which packages
// there are, on which floor each stands, which of them are pure, and who owns
// each dangerous or foreign package; the test parses every Go file of the
// module, for all systems and build tags at once, and reports what differs.
//
// It reads source and never builds it, so it sees files that this machine
// would not compile. It goes by names: a selector such as os.Getenv is found
// through the import that names os, and dot imports, which would hide it, are
// refused. Methods are beyond it.
//
// Read next: floors.txt, then check.go.
package archtest
