// Packaging makes what is released of tipstaff out of one commit: archives with
// checksums and lists of parts, packages for Debian and Red Hat, an image, a
// bundle for Claude Desktop, packages for npm and the entry for the registry of
// the protocol. make dist calls it; docs/packages.md says what each is for.
//
// It is a module of its own: the writers of packages and their modules are no
// part of the program. Everything bears the date of the commit and is written in
// a fixed order, so the same commit gives the same bytes, wherever it is built.
//
// Read next: main.go (the steps), then a file for each kind of package.
package main
