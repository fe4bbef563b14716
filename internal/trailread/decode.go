package trailread

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"time"

	"github.com/segmentio/encoding/json"

	"tipstaff/internal/audit"
)

// decoder reads lines into records. What it makes of a line is what
// encoding/json makes of it, and faster: a quicker library reads
// the lines about which the two cannot differ, and encoding/json all others. A
// fuzz test holds it to that. One is used by one goroutine at a time.
type decoder struct{ record strictRecord }

// strictRecord is a record whose time is read as strictly as encoding/json reads it;
// the library takes other forms as well.
type strictRecord struct {
	Time moment `json:"time"`
	audit.Record
}

type moment struct{ time.Time }

var errNoRecord = errors.New("the line is no record")

// decode reads a line into r. It fails if the line is no record.
func (d *decoder) decode(line []byte, r *audit.Record) error {
	if !d.plainly(line, r) {
		*r = audit.Record{}
		if err := stdjson.Unmarshal(line, r); err != nil {
			return err
		}
	}
	if r.Seq == 0 || r.Event == "" || r.Time.IsZero() {
		return errNoRecord
	}
	return nil
}

// plainly reads a line into r as package audit writes it. It reports false, and
// leaves anything in r, where encoding/json has to decide: about every error and
// every name that is not exactly one of a record's, and in lists of objects,
// where an item of a list that stands twice may show through.
func (d *decoder) plainly(line []byte, r *audit.Record) bool {
	if !plain(line) {
		return false
	}
	d.record = strictRecord{}
	rest, err := json.Parse(line, &d.record, json.DisallowUnknownFields|json.DontMatchCaseInsensitiveStructFields)
	*r = d.record.Record
	r.Time = d.record.Time.Time
	return err == nil && len(rest) == 0 && (r.Result == nil || r.Result.Violations == nil && r.Result.Used == nil)
}

const (
	// longNumber is so many digits that the library may not notice when a number
	// is too large.
	longNumber = 19
	// mostBrackets are more than a record has, but in strings. The library follows
	// nested values by recursion, however deep they are.
	mostBrackets = 100
)

// plain reports whether a line has nothing that the library could read in another
// way than encoding/json: no long numbers, no null, no deep nesting.
func plain(line []byte) bool {
	return !bytes.Contains(line, []byte("null")) &&
		bytes.Count(line, []byte("["))+bytes.Count(line, []byte("{")) <= mostBrackets &&
		!digitsInARow(line, longNumber)
}

// digitsInARow reports whether text has n digits in a row, by a look at every
// n-th byte and at those before one that is a digit.
func digitsInARow(text []byte, n int) bool {
	for end := n - 1; end < len(text); {
		found := 0
		for found < n && text[end-found] >= '0' && text[end-found] <= '9' {
			found++
		}
		if found == n {
			return true
		}
		end += n - found
	}
	return false
}
