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

// Question is what a person is asked before a command runs that a rule leaves to
// people: exactly what would run, for whom, and which rule requires a person.
type Question struct {
	// Digest identifies exactly what would run. Two questions with one digest
	// ask for the same thing: the same arguments, file, directory, environment,
	// credentials, input, redirections and limits, for the same principal, session, task and
	// agent, under the same settings.
	Digest string

	ID      tipstaff.RequestID
	Tool    tipstaff.Tool
	Origin  tipstaff.Origin
	Session tipstaff.SessionID
	Argv    []string
	File    string   // of the program
	Dir     string   // canonical
	Vars    []string // that the caller adds, each "NAME=value"
	Stdin   []byte
	Timeout time.Duration
	// Background: it outlives the call that asks for it, for as long as Timeout,
	// and its input stays open. Terminal: it gets one.
	Background, Terminal bool
	// Writes are the files that a script opens for the command to write to.
	Writes []string
	// Credentials is what the command is lent, as [language.Credential.String] writes it.
	Credentials []string

	Rule, At, Why string // which rule requires a person, and its text
	Policy        string // digest of the settings
	// App: every rule that requires a person leaves it to one who answers in the
	// page that the client shows beside the call.
	App bool

	// The fields below are set by the store that keeps the question.
	Handle  string
	Expires time.Time
	// Remember: it may be allowed for the whole session.
	Remember bool
}

// Choice is a person's choice. The zero Choice refuses.
type Choice int

const (
	Refuse  Choice = iota // it does not run
	Once                  // allow this command once
	Session               // allow it again until the session ends
)

// String returns the name that records use.
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

// Answer is a person's answer to a question. The zero Answer refuses.
type Answer struct {
	Choice  Choice
	Comment string // of a person who refuses, for the caller
	By      string // the person, as far as known
	How     string // how the answer came, see the constants
}

// The ways in which an answer comes.
const (
	ByElicitation = "elicitation" // the client asked its user
	ByHost        = "host"        // a person on this machine, through the control socket
	ByOperator    = "operator"    // a person on an operator's machine, over the engine
	ByTerminal    = "terminal"    // the person who started the command
	ByApp         = "app"         // in the page that the client shows; see [Question.App]
	ByMemory      = "remembered"  // an earlier answer for the session
)

// Outcome is the outcome of a question.
type Outcome string

const (
	Granted   Outcome = "granted"   // by a person, or by an earlier answer for the session
	Denied    Outcome = "denied"    // by a person
	Expired   Outcome = "expired"   // there was no answer in time
	Pending   Outcome = "pending"   // it is open
	Cancelled Outcome = "cancelled" // the caller is gone
	Voided    Outcome = "void"      // the policy changed while the question was open
	Unasked   Outcome = "unasked"   // there is no person to ask, or too many questions are open
)

// Verdict is an answer together with the question's handle and outcome, for the
// record.
type Verdict struct {
	Answer
	Handle  string
	Outcome Outcome
}

// Approval is a person's permission to run exactly one thing. The zero Approval
// permits nothing.
type Approval struct {
	verdict Verdict
	digest  string
	until   time.Time
}

// NewApproval returns a person's approval of q, valid until the given time.
// Whoever may call it can permit a command, so only internal/policy/approval,
// which checks the answers, does (floors.txt holds that).
func NewApproval(q Question, w Verdict, until time.Time) Approval {
	return Approval{verdict: w, digest: q.Digest, until: until}
}

// Verdict returns the answer and its outcome.
func (a Approval) Verdict() Verdict { return a.verdict }

// Question returns what a person has to be asked, if the decision is to ask.
func (d *Decision) Question() (Question, bool) {
	g := d.withheld
	if g == nil {
		return Question{}, false
	}
	f := d.Deciding()
	q := Question{
		ID: g.req.ID, Tool: g.req.Tool, Origin: g.req.Origin, Session: g.req.Session,
		Argv: g.argv, File: g.program.Path, Dir: g.dir.Path(), Vars: passedVariables(g), Stdin: g.req.Stdin, Timeout: g.timeout, Writes: g.req.Writes,
		Background: g.req.Background, Terminal: g.req.Terminal != nil,
		Credentials: g.credentials.Strings(),
		Rule:        f.Rule, At: f.At, Why: d.reasons(), Policy: d.Digest,
		App: d.answeredInApps(),
	}
	q.Digest = g.digest(d.terms())
	return q, true
}

// answeredInApps reports whether every rule that requires a person accepts an
// answer from the client's page. It does not if there are more such rules than
// a question cites: a person has to see a reason to overrule it.
func (d *Decision) answeredInApps() bool {
	asking := 0
	for _, f := range d.Findings {
		if f.Effect != Ask {
			continue
		}
		if asking++; !f.app {
			return false
		}
	}
	return asking > 0 && asking <= maxReasons
}

// maxReasons bounds how many rules a question cites.
const maxReasons = 5

// reasons returns the texts of the rules that require a person, as sentences.
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
		if why = strings.TrimSpace(why + " " + f.Hint); !slices.Contains(all, why) && len(all) < maxReasons {
			all = append(all, why)
		}
	}
	return strings.Join(all, " ")
}

// Approved returns the grant that a decision to ask withholds, if a approves
// exactly this command under these settings and now is before its end. It
// returns the grant once; a second call fails, so that one answer starts one
// command.
func (d *Decision) Approved(a Approval, now time.Time) (*Grant, bool) {
	g := d.withheld
	if d.Effect != Ask || g == nil || a.verdict.Choice == Refuse || a.verdict.Outcome != Granted ||
		a.digest == "" || a.digest != g.digest(d.terms()) || !now.Before(a.until) {
		return nil, false
	}
	d.withheld, d.verdict = nil, a.verdict
	return g, true
}

// Verdict returns a person's answer, if one was asked.
func (d *Decision) Verdict() Verdict { return d.verdict }

// Answered notes the outcome of a question that ended without a grant, for the
// record.
func (d *Decision) Answered(w Verdict) { d.verdict = w }

// Close closes the directory of a command that needed an approval and did not
// get one. It may be called on every decision, and more than once.
func (d *Decision) Close() {
	if d.withheld != nil {
		d.withheld.Close()
		d.withheld = nil
	}
}

// passedVariables returns the caller's own variables that are passed on.
func passedVariables(g *Grant) []string {
	var vars []string
	for _, kv := range g.req.Env {
		if slices.Contains(g.env, kv) {
			vars = append(vars, kv)
		}
	}
	return vars
}

// digest returns the SHA-256, in hexadecimal, of everything that affects what
// runs and for whom. Each part is preceded by its length: otherwise two
// different commands could have one digest, and an approval of the first would
// start the second.
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
	if g.req.Stdin != nil { // an empty input differs from /dev/null
		text("input")
	}
	number(uint64(g.timeout))
	number(uint64(g.output))
	texts(g.credentials.Strings())
	if len(g.req.Writes) > 0 {
		text("writes")
		texts(g.req.Writes)
	}
	if g.req.Background {
		text("background")
	}
	if g.req.Terminal != nil {
		text("terminal")
	}
	o := g.req.Origin
	for _, s := range []string{string(g.req.Session), string(g.req.Family), o.Front, o.Principal, o.Agent, o.Task, settings} {
		text(s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// lastingEnv is the environment without the trace variables that the server
// adds: they differ from call to call, and [tipstaff.ParseTrace] has checked
// them.
func (g *Grant) lastingEnv() []string {
	return slices.DeleteFunc(slices.Clone(g.env), func(kv string) bool {
		return (strings.HasPrefix(kv, "TRACEPARENT=") || strings.HasPrefix(kv, "TRACESTATE=")) && slices.Contains(g.req.Fixed, kv)
	})
}
