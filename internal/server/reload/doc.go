// Package reload applies changes of the policy file while a server runs.
//
// A [Reloader] looks at the file and at everything that it extends once a
// second. It reads the file when it has changed and has then stayed unchanged
// for one look, and whenever it is told to. A file that can be used (it can be
// read and understood, its own tests pass, and everything that it names can be
// made) decides from the next command on. Any other file changes nothing: the
// last good one stays in force, and the record and the log say why, once for
// each fault.
//
// The package does not know how a policy is put in force. Its caller supplies a
// function that prepares that ([Options.Prepare]); it may fail, but the
// function that it returns cannot.
//
// Read next: reload.go, then follow.go.
package reload
