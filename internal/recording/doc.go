// Package recording keeps what commands printed, as it came: one file for each
// command, in asciicast v3 (docs.asciinema.org/manual/asciicast/v3), which
// "tipstaff audit replay" and asciinema play. It is off unless the operator wants
// it: what programs print is theirs, and may hold what no rule recognises.
//
// A recording is bounded. Secrets are hidden in it as they are in the trail, also
// where they came in pieces. Its SHA-256 stands in the record of the command's
// end, so that the signed trail covers it.
//
// Read next: recorder.go, cast.go, player.go.
package recording
