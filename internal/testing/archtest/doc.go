// Package archtest checks the code against its plan. floors.txt says which
// packages there are, on which floor each stands, which of them are pure, and
// who owns each dangerous or foreign package; the test parses every Go file of
// the module, for all systems and build tags at once, and reports differences.
//
// It reads source files without building them, so it also sees files that this
// machine would not compile. It works by names: a selector such as os.Getenv is
// found through the import of os, and dot imports, which would hide it, are
// refused. It cannot check methods.
//
// core.txt lists the trusted core, the packages whose mistakes would break a promise of
// SECURITY.md, with a budget of lines and the few imports that they may have.
// words.txt lists the names that many packages may give to a type, words that names
// must not have, and the glossary of ARCHITECTURE.md.
//
// Read next: floors.txt, then check.go.
package archtest
