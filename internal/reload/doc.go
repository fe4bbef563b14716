// Package reload takes up a changed policy file while a server runs.
//
// A [Reloader] looks at the file and at everything that it extends once a second,
// and reads it when it has changed and rested, and whenever it is told to. A file
// that can be used (read whole, understood, its own tests passed, everything that
// it names can be made) decides from the next command on. Any other changes
// nothing: the last good file goes on deciding, and the record and the log say why,
// once for each fault.
//
// The package does not know what "to decide" takes: its user prepares that
// ([Options.Prepare]), which may fail, and gives a function that cannot.
//
// Read next: reload.go, then follow.go.
package reload
