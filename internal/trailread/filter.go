package trailread

import (
	"path"
	"slices"
	"strings"
	"time"

	"tipstaff/internal/audit"
)

// Filter says which records are wanted. All that is given must hold; the zero
// Filter wants every record. Names are compared byte for byte.
type Filter struct {
	Agent, Task, Session, Principal string
	Command                         string // the command's id
	Event                           Word
	Code                            string
	Denied                          bool      // refusals of every kind
	Since, Until                    time.Time // from Since on, up to and without Until
	Cmd                             Word
	Exit                            *Exit
	Seq                             uint64
}

// Word is a word that is asked for: exactly this one, or with Prefix each that
// begins with it. The zero Word asks for nothing.
type Word struct {
	Text   string
	Prefix bool
}

func (w Word) given() bool { return w.Text != "" || w.Prefix }

func (w Word) is(s string) bool {
	return s == w.Text || w.Prefix && strings.HasPrefix(s, w.Text)
}

// Exit is an exit code that is asked for, or with Not each other one.
type Exit struct {
	Code int
	Not  bool
}

// Match reports whether r is wanted.
func (f *Filter) Match(r *audit.Record) bool {
	return equal(f.Agent, r.Who.Agent) && equal(f.Task, r.Who.Task) &&
		equal(f.Session, string(r.Who.Session)) && equal(f.Principal, r.Who.Principal) &&
		equal(f.Code, string(r.Code)) && equal(f.Command, string(r.Trace.CommandID)) &&
		(!f.Event.given() || f.Event.is(string(r.Event))) &&
		(!f.Denied || refused(r)) &&
		(f.Since.IsZero() || !r.Time.Before(f.Since)) &&
		(f.Until.IsZero() || r.Time.Before(f.Until)) &&
		(!f.Cmd.given() || f.Cmd.inCommand(&r.What)) &&
		(f.Exit == nil || f.Exit.is(r.Result)) &&
		(f.Seq == 0 || f.Seq == r.Seq)
}

func equal(wanted, got string) bool { return wanted == "" || wanted == got }

const refusedEnd = ".refused"

// refused reports whether r says that something was not allowed, or could not
// be judged.
func refused(r *audit.Record) bool {
	return strings.HasSuffix(string(r.Event), refusedEnd) || r.Decision.Action == "deny"
}

// inCommand looks at every argument, at the name of the program without its
// directory, and at the words of a line that could not be split.
func (w Word) inCommand(what *audit.What) bool {
	if w.isBase(what.File) || len(what.Argv) > 0 && w.isBase(what.Argv[0]) {
		return true
	}
	if slices.ContainsFunc(what.Argv, w.is) {
		return true
	}
	for word := range strings.FieldsSeq(what.Line) {
		if w.is(word) || w.is(strings.Trim(word, `'"`)) {
			return true
		}
	}
	return false
}

func (w Word) isBase(file string) bool { return file != "" && w.is(path.Base(file)) }

func (e *Exit) is(res *audit.Result) bool {
	return res != nil && (res.ExitCode == e.Code) != e.Not
}
