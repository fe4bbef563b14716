package console

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"tipstaff"
	"tipstaff/internal/admin/api"
	"tipstaff/internal/audit"
	"tipstaff/internal/audit/query"
)

// lastCommand is one of the commands before a question.
type lastCommand struct {
	At            time.Time
	Line, Outcome string
	Mark          string
	Agent, Task   string // whose it was
	Cwd           string
}

// lastShown is how many commands of its session a question shows, and lastRead
// bounds the records that are read for them: a command has two at most.
const (
	lastShown = 5
	lastRead  = 4 * lastShown
)

// recent keeps what was found for open questions: a trail may be long, and what a
// session did before a question changes no more.
type recent struct {
	mu sync.Mutex
	of map[string]foundBefore // by the handle of the question
}

// foundBefore is what was found for a question, and when it was looked for, first and
// last.
type foundBefore struct {
	list        []lastCommand
	first, last time.Time
}

// The copies of a fleet's trails come some seconds late: what a session has just done
// is looked for again until copiesCome after the question was seen, every lookAgain.
const (
	copiesCome = 15 * time.Second
	lookAgain  = 3 * time.Second
)

// settled reports whether there is no need to look again.
func (f foundBefore) settled(fleet bool, now time.Time) bool {
	return !f.first.IsZero() && (!fleet || f.last.Sub(f.first) >= copiesCome || now.Sub(f.last) < lookAgain)
}

// searchTime bounds how long a page waits for the trails.
const searchTime = time.Second

// before adds to each question the last commands of its session, the newest last.
// Nothing is added where the trails cannot be read in time.
func (s *Server) before(ctx context.Context, list []questionView) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	s.recent.mu.Lock()
	defer s.recent.mu.Unlock()
	found := map[string]foundBefore{}
	fleet := s.trails.here().fleet
	for i := range list {
		q := &list[i]
		known := s.recent.of[q.Approval]
		if now := time.Now(); !known.settled(fleet, now) {
			s.trails.refresh(s.ending, &s.study.work)
			known.list, known.last = s.lastOf(ctx, q.Question), now
			if known.first.IsZero() {
				known.first = now
			}
		}
		found[q.Approval] = known
		q.remember(known.list)
	}
	s.recent.of = found
}

// remember adds what a session did before. A gateway does not know whose session it is:
// the runner's records say so.
func (q *questionView) remember(last []lastCommand) {
	q.Last = last
	if q.AtGateway() && q.Agent == "" && len(last) > 0 {
		newest := last[len(last)-1]
		q.Agent, q.Task, q.Cwd = newest.Agent, newest.Task, newest.Cwd
	}
}

// AtGateway reports whether a gateway asks, which does not see the machine where the
// command is to run.
func (q *questionView) AtGateway() bool { return strings.HasPrefix(q.Member, "gateway ") }

// lastOf reads the trails for the last commands of a question's session. Those of a
// gateway's question ran on a runner.
func (s *Server) lastOf(ctx context.Context, q api.Question) []lastCommand {
	if q.Session == "" {
		return nil
	}
	kind, machine, _ := strings.Cut(q.Member, " ") // as "runner r1"
	if kind == "gateway" {
		machine = ""
	}
	trails, err := s.find(machine)
	if err != nil {
		return nil
	}
	lines, _, err := query.Last(ctx, trails, &query.Filter{Session: q.Session, Event: query.Word{Text: "command.", Prefix: true}}, lastRead)
	if err != nil {
		return nil
	}
	var all []lastCommand
	at := map[string]int{}
	for i := range lines {
		r := &lines[i].Record
		line := query.CommandLine(r)
		outcome, sign := outcomeOf(r)
		if outcome == "" || r.Code == tipstaff.ApprovalRequired && line == q.Command {
			continue // or it is the question itself
		}
		id := string(r.Trace.CommandID)
		if n, ok := at[id]; ok && id != "" {
			all[n].Outcome, all[n].Mark = outcome, sign
			continue
		}
		at[id] = len(all)
		all = append(all, lastCommand{At: r.Time, Line: line, Outcome: outcome, Mark: sign, Agent: r.Who.Agent, Task: r.Who.Task, Cwd: r.What.Cwd})
	}
	return all[max(0, len(all)-lastShown):]
}

// outcomeOf says in a word what a record tells of a command, and its mark; "" if
// it tells nothing.
func outcomeOf(r *audit.Record) (outcome, sign string) {
	if r.Code == tipstaff.ApprovalRequired {
		return "asked", "waits"
	}
	switch r.Event {
	case audit.CommandStart:
		return "runs", "runs"
	case audit.CommandRefused:
		return "refused", "failed"
	case audit.CommandError:
		return "not started", "failed"
	case audit.CommandEnd:
		if r.Result == nil {
			return "ended", "ended"
		}
		if r.Result.ExitCode == 0 {
			return "exit 0", "good"
		}
		return "exit " + strconv.Itoa(r.Result.ExitCode), "failed"
	}
	return "", ""
}
