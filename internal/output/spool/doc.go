// Package spool keeps the whole output of commands for a while, both streams in
// the order in which they came, so that a caller can read what an answer left
// out, and what a command prints that still runs.
//
// A [Store] keeps the outputs of one server, an [Output] is that of one command.
// Small outputs stay in memory; a bigger one gets a file of its own. Of an output
// beyond its bound the beginning is kept, up to the bound, and what came last, a
// few KiB: what lies between is lost, and an [Excerpt] says so. The same holds from
// where a disk is full. Writing never fails and never tells a command anything.
//
// The files are encrypted with a key that only the server's memory has, so what a
// crash leaves behind is noise. Secrets are hidden when a part is read, by the
// rules that hide them in recordings; to hide them on the way in would cost ten
// times as much as everything else that happens to output.
//
// An output is removed an hour after its end, with [Store.Remove], or when there
// is no more room, the one that ended first before others. The directory of a
// server that has died is removed by the next one.
//
// The package does not know who may read an output. It knows nothing of
// processes and nothing of answers.
//
// Read next: store.go, output.go, read.go, grep.go.
package spool
