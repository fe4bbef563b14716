package query

import (
	"io"

	"tipstaff/internal/audit"
	"tipstaff/internal/command/cmdline"
)

// Exporter writes records in another form. Write must not be called after
// Close, which writes what is buffered and does not close the underlying
// writer.
type Exporter interface {
	Write(l *Line) error
	Close() error
}

// JSONL writes the lines of the trail unchanged.
type JSONL struct{ out io.Writer }

// NewJSONL returns a JSONL that writes to w, once for each line.
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

// CommandLine returns a command as one line for people: quoted as a shell
// requires, or as it was given if it
// could not be split or is a script. Invisible characters
// are escaped.
func CommandLine(r *audit.Record) string {
	if len(r.What.Argv) > 0 {
		return cmdline.Display(r.What.Argv)
	}
	if r.What.Script != "" {
		return cmdline.Escape(r.What.Script)
	}
	return cmdline.Escape(r.What.Line)
}
