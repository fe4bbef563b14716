package trailread

import (
	"io"

	"tipstaff/internal/argv"
	"tipstaff/internal/audit"
)

// Exporter writes records in another form. Write may be called until Close,
// which writes what is left; it does not close what is written to.
type Exporter interface {
	Write(l *Line) error
	Close() error
}

// JSONL writes the lines of the trail as they are.
type JSONL struct{ out io.Writer }

// NewJSONL makes a JSONL that writes to w, once for each line.
func NewJSONL(w io.Writer) *JSONL { return &JSONL{w} }

// Write writes a line.
func (j *JSONL) Write(l *Line) error {
	if _, err := j.out.Write(l.Raw); err != nil {
		return err
	}
	_, err := j.out.Write([]byte{'\n'})
	return err
}

// Close does nothing.
func (j *JSONL) Close() error { return nil }

// CommandLine is what was asked as one line for people: quoted as a shell would
// need it, or as it was given when it could not be split. What cannot be seen
// in it is written as an escape.
func CommandLine(r *audit.Record) string {
	if len(r.What.Argv) > 0 {
		return argv.Display(r.What.Argv)
	}
	return argv.Escape(r.What.Line)
}
