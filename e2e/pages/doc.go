// Package pages reads README.md, SECURITY.md and docs/*.md, and runs what they
// tell people to type: every command of a block in sh or console, in the order
// of the page, in one shell with an empty home directory and a small project,
// with the built binary. Where a page shows output, it is compared. Policies are
// checked, other data is parsed, and what an agent is said to be told is asked
// of a server.
//
// HTML comments in front of a block, unseen by readers, say what the text does
// not:
//
//	<!-- not run: REASON -->     the block cannot be run here; the test counts these
//	<!-- first: SCRIPT -->       runs before it: what a reader has and the shell of the test has not
//	<!-- calls: TOOL JSON -->    an agent makes this call before it, of a server as a client starts it
//	<!-- exits: 0 4 -->          the exit codes of its commands; 0 for those that are not named
//	<!-- types: y -->            lines that the reader types when a command asks
//	<!-- agent: TOOL JSON -->    the block is the answer to this call
//
// In what a page shows, … stands for any text. Times, handles, names of trails
// and the like are compared by their form only, and the home directory is
// /home/you.
//
// The texts of docs/troubleshooting.md are held to the texts in the code, and
// docs/first-two-minutes.cast to the guide.
package pages
