// Package recording keeps what commands print: one file for each command, in
// asciicast v3 (docs.asciinema.org/manual/asciicast/v3), which "tipstaff audit
// replay" and asciinema play. It is off by default, because output may contain
// secrets that no rule recognizes.
//
// The size of a recording is bounded. Secrets are redacted as in the trail,
// also if they arrive in pieces. The record of the command's end contains the
// recording's SHA-256, so the signed trail covers it.
//
// Read next: recorder.go, cast.go, player.go.
package recording
