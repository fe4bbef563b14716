package query

import (
	"bytes"
	"fmt"
	"time"

	"tipstaff/internal/audit"
)

// Line is one record and its place. Raw is the line in the file, without its
// newline.
type Line struct {
	Raw    []byte
	Record audit.Record
	Trail  *Trail
	Place  Place
}

// Place is the position of a line.
type Place struct {
	File   string
	Offset int64
}

func (p Place) String() string { return fmt.Sprintf("%s, byte %d", p.File, p.Offset) }

// Faults counts the lines that are not records.
type Faults struct {
	Torn  int64 // last line of a trail, without an end
	Bad   int64 // all others
	First Place // of the first such line
}

func (f *Faults) torn(at Place) { f.note(at); f.Torn++ }
func (f *Faults) bad(at Place)  { f.note(at); f.Bad++ }

func (f *Faults) note(at Place) {
	if f.Torn+f.Bad == 0 {
		f.First = at
	}
}

// The ends of a line as package audit writes it.
const (
	lineBegin = `{"v":`
	lineEnd   = `"}`
)

// looksWhole reports whether a line begins and ends like a record. It is an
// approximation, for lines that are not worth decoding.
func looksWhole(line []byte) bool {
	return bytes.HasPrefix(line, []byte(lineBegin)) && bytes.HasSuffix(line, []byte(lineEnd))
}

// timeOf returns the time of a record, wherever it is in the line.
func timeOf(line []byte) (time.Time, bool) {
	if t, ok := audit.QuickTime(line); ok {
		return t, true
	}
	var r audit.Record
	if err := new(decoder).decode(line, &r); err != nil {
		return time.Time{}, false
	}
	return r.Time, true
}
