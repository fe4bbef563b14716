package redact

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// Redactor hides secrets in commands. Its methods may be called from several
// goroutines at once. A nil Redactor knows no values and finds secrets only by
// structure and form.
type Redactor struct {
	known []knownValue // longest first

	learning sync.Mutex
	secrets  []string // learned values, the latest last
	learned  atomic.Pointer[[]knownValue]
}

// New returns a Redactor that also knows the values of the server's own secret
// variables, by variable name. It does not search for paths, or for values that
// are too short or too common to be distinguished from ordinary words.
func New(knownSecrets map[string]string) *Redactor {
	return &Redactor{known: knownValues(knownSecrets)}
}

// mostLearned bounds how many learned values are kept; the oldest are dropped.
const mostLearned = 64

// Learn adds a secret that became known while the server runs. kind is its name
// in the record.
func (r *Redactor) Learn(kind, secret string) {
	r.learning.Lock()
	defer r.learning.Unlock()
	if slices.Contains(r.secrets, secret) {
		return
	}
	r.secrets = append(r.secrets, secret)
	r.secrets = r.secrets[max(0, len(r.secrets)-mostLearned):]
	values := map[string]string{}
	for i, s := range r.secrets {
		values[strconv.Itoa(i)] = s
	}
	known := knownValues(values)
	for i := range known {
		known[i].rule = kind
	}
	r.learned.Store(&known)
}

// Argv returns argv with its secrets hidden. It never changes argv, and returns
// argv itself if there is nothing to hide. The time is linear in the total
// length of the arguments.
func (r *Redactor) Argv(argv []string) []string {
	var (
		out  []string
		w    walk
		n    netrc
		hide spans
	)
	for i, arg := range argv {
		hide = hide[:0]
		w.step(arg, 0, &hide)
		n.argument(arg, &hide)
		r.inside(arg, wholeWord, &hide)
		if len(hide) == 0 {
			continue
		}
		if out == nil {
			out = append([]string(nil), argv...)
		}
		out[i] = hide.cover(arg)
	}
	if out == nil {
		return argv
	}
	return out
}

// Text returns running text with its secrets hidden: a command line that could
// not be split, or the explanation of a refusal.
func (r *Redactor) Text(s string) string {
	var hide spans
	r.inside(s, runningText, &hide)
	if len(hide) == 0 {
		return s
	}
	return hide.cover(s)
}

// inside adds the secrets in s: known values, secrets by form, fields, and
// those in the command lines that s contains (sh -c "…").
func (r *Redactor) inside(s string, m mode, hide *spans) {
	if r != nil {
		findKnown(s, r.known, hide)
		if learned := r.learned.Load(); learned != nil {
			findKnown(s, *learned, hide)
		}
	}
	findForms(s, hide)
	findUserinfo(s, hide)
	findFields(s, m, hide)
	findStatements(s, hide)
	findNetrc(s, hide)
	findCommands(s, 0, nesting, hide)
}

// mode says what a string is.
type mode int

const (
	wholeWord   mode = iota // one argument: its ends are the ends of a value
	runningText             // several words
)
