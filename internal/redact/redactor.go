package redact

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// Redactor hides secrets in commands. Its methods may be called from many
// goroutines at once. A nil Redactor knows no
// values and goes by structure and form alone.
type Redactor struct {
	known []knownValue // longest first

	learning sync.Mutex
	secrets  []string // what was learned, the latest last
	learned  atomic.Pointer[[]knownValue]
}

// New makes a Redactor that also knows the values of the server's own secret
// variables, given by variable name. Values that are too short or too common
// to be told from ordinary words, and paths, are not searched for.
func New(knownSecrets map[string]string) *Redactor {
	return &Redactor{known: knownValues(knownSecrets)}
}

// mostLearned bounds what is kept of learned values; the oldest are forgotten.
const mostLearned = 64

// Learn makes the Redactor know one more secret, which came up while the server
// runs. kind says in the record what was hidden.
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

// Argv returns argv with its secrets hidden. It never changes argv, and
// returns argv itself when there is nothing to hide. The time is linear in the
// length of all arguments.
func (r *Redactor) Argv(argv []string) []string {
	var (
		out  []string
		w    walk
		hide spans
	)
	for i, arg := range argv {
		hide = hide[:0]
		w.step(arg, 0, &hide)
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

// Text returns running text with its secrets hidden: a command line that
// could not be split, or the sentence that explains a refusal.
func (r *Redactor) Text(s string) string {
	var hide spans
	r.inside(s, runningText, &hide)
	if len(hide) == 0 {
		return s
	}
	return hide.cover(s)
}

// inside adds what is secret in s by known value, by form, by the fields that
// it holds, and by the command lines that it holds (sh -c "…").
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
	findCommands(s, 0, nesting, hide)
}

// mode says what a string is.
type mode int

const (
	wholeWord   mode = iota // one argument: its ends are the ends of a value
	runningText             // several words
)
