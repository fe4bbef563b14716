package policy

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"tipstaff"
)

// Question is what a person is asked when the policy leaves a command to one:
// exactly what would run, for whom, and why nobody but a person may allow it.
type Question struct {
	// Digest names exactly what would run. Two questions with one digest ask
	// for the same thing: the same arguments, file, directory, environment,
	// credentials, input and limits, for the same principal, session, task and agent, under
	// the same settings.
	Digest string

	ID      tipstaff.RequestID
	Tool    tipstaff.Tool
	Origin  tipstaff.Origin
	Session tipstaff.SessionID
	Argv    []string
	File    string   // the program's
	Dir     string   // canonical
	Vars    []string // that the caller adds, each "NAME=value"
	Stdin   []byte
	Timeout time.Duration
	// Credentials is what the command is lent, as [rules.Credential.String] writes it.
	Credentials []string

	Rule, At, Why string // who asks for a person, and what it says
	Policy        string // digest of the settings

	// What follows is given by who keeps the question.
	Handle  string
	Expires time.Time
	// Remember: it may be allowed for the whole session.
	Remember bool
}

// Choice is what a person wants. The zero Choice refuses.
type Choice int

const (
	Refuse  Choice = iota
	Once           // this command, this time
	Session        // and again, as long as the session lasts
)

func (c Choice) String() string {
	switch c {
	case Once:
		return "once"
	case Session:
		return "session"
	default:
		return "refuse"
	}
}

// Answer is what a person said to a question. The zero Answer refuses.
type Answer struct {
	Choice  Choice
	Comment string // of a person who refuses, for the caller
	By      string // who it was, as far as it is known
	How     string // by which way it came, see the constants
}

// The ways by which an answer comes.
const (
	ByElicitation = "elicitation" // the client asked its person
	ByHost        = "host"        // somebody on this machine, through the control socket
	ByTerminal    = "terminal"    // who started the command
	ByMemory      = "remembered"  // it was given for the session before
)

// Outcome is what became of a question.
type Outcome string

const (
	Granted   Outcome = "granted"
	Denied    Outcome = "denied"    // by a person
	Expired   Outcome = "expired"   // nobody answered in time
	Pending   Outcome = "pending"   // it is open
	Cancelled Outcome = "cancelled" // whoever asked is gone
	Voided    Outcome = "void"      // the policy changed while it was open
	Unasked   Outcome = "unasked"   // there is nobody to ask, or no room for the question
)

// Word is an answer together with the question's handle and what became of it,
// for the record.
type Word struct {
	Answer
	Handle  string
	Outcome Outcome
}

// Approval is a person's permission for exactly one thing to run. The zero
// Approval permits nothing.
type Approval struct {
	word   Word
	digest string
	until  time.Time
}

// NewApproval writes down that a person allows what q asks, until a moment.
// Only internal/approval calls it, where answers are kept (see floors.txt).
func NewApproval(q Question, w Word, until time.Time) Approval {
	return Approval{word: w, digest: q.Digest, until: until}
}

// Word is what was said.
func (a Approval) Word() Word { return a.word }

// Question is what a person has to be asked, if the decision is to ask.
func (d *Decision) Question() (Question, bool) {
	g := d.withheld
	if g == nil {
		return Question{}, false
	}
	f := d.Deciding()
	q := Question{
		ID: g.req.ID, Tool: g.req.Tool, Origin: g.req.Origin, Session: g.req.Session,
		Argv: g.argv, File: g.program.Path, Dir: g.dir.Path(), Vars: passed(g), Stdin: g.req.Stdin, Timeout: g.timeout,
		Credentials: g.credentials.Strings(),
		Rule:        f.Rule, At: f.At, Why: d.reasons(), Policy: d.Digest,
	}
	q.Digest = g.digest(d.terms())
	return q, true
}

// mostReasons bounds how many rules a person hears.
const mostReasons = 5

// reasons are what the rules say that ask for a person, a sentence or two each.
func (d *Decision) reasons() string {
	var all []string
	for _, f := range d.Findings {
		if f.Effect != Ask {
			continue
		}
		why := strings.TrimSpace(f.Msg)
		if why != "" && !strings.ContainsAny(why[len(why)-1:], ".!?") {
			why += "."
		}
		if why = strings.TrimSpace(why + " " + f.Hint); !slices.Contains(all, why) && len(all) < mostReasons {
			all = append(all, why)
		}
	}
	return strings.Join(all, " ")
}

// Approved gives the permission that a decision to ask withholds, if a person
// has approved of exactly this and now is before the end of the approval. It
// gives it once.
func (d *Decision) Approved(a Approval, now time.Time) (*Grant, bool) {
	g := d.withheld
	if d.Effect != Ask || g == nil || a.word.Choice == Refuse || a.word.Outcome != Granted ||
		a.digest == "" || a.digest != g.digest(d.terms()) || !now.Before(a.until) {
		return nil, false
	}
	d.withheld, d.word = nil, a.word
	return g, true
}

// Word is what a person said, when one was asked.
func (d *Decision) Word() Word { return d.word }

// Answered notes, for the record, what became of a question that was not granted.
func (d *Decision) Answered(w Word) { d.word = w }

// Close lets go of the directory of a command that was to be asked about and
// was not approved of. It may be called on every decision, and more than once.
func (d *Decision) Close() {
	if d.withheld != nil {
		d.withheld.Close()
		d.withheld = nil
	}
}

// passed gives the caller's own variables that are passed on.
func passed(g *Grant) []string {
	var vars []string
	for _, kv := range g.req.Env {
		if slices.Contains(g.env, kv) {
			vars = append(vars, kv)
		}
	}
	return vars
}

// digest is the SHA-256, in hexadecimal, of everything that makes a difference
// to what runs and to whose it is. Each part is preceded by its length, so that
// no two lists of parts are written alike.
func (g *Grant) digest(settings string) string {
	h := sha256.New()
	number := func(n uint64) { h.Write(binary.BigEndian.AppendUint64(nil, n)) }
	text := func(s string) { number(uint64(len(s))); h.Write([]byte(s)) }
	texts := func(list []string) {
		number(uint64(len(list)))
		for _, s := range list {
			text(s)
		}
	}
	text("tipstaff approval 2")
	texts(g.argv)
	text(g.program.Path)
	number(g.program.File.Dev)
	number(g.program.File.Ino)
	text(g.dir.Path())
	texts(g.lastingEnv())
	text(string(g.req.Stdin))
	if g.req.Stdin != nil { // an empty input is not /dev/null
		text("input")
	}
	number(uint64(g.timeout))
	number(uint64(g.output))
	texts(g.credentials.Strings())
	o := g.req.Origin
	for _, s := range []string{string(g.req.Session), string(g.req.Family), o.Front, o.Principal, o.Agent, o.Task, settings} {
		text(s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// lastingEnv is the environment without the trace that the server tells each
// call of: it differs from call to call, and [tipstaff.ParseTrace] has checked it.
func (g *Grant) lastingEnv() []string {
	return slices.DeleteFunc(slices.Clone(g.env), func(kv string) bool {
		return (strings.HasPrefix(kv, "TRACEPARENT=") || strings.HasPrefix(kv, "TRACESTATE=")) && slices.Contains(g.req.Fixed, kv)
	})
}
