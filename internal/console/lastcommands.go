package console

import (
	"context"
	"strconv"
	"sync"
	"time"

	"tipstaff"
	"tipstaff/internal/audit"
	"tipstaff/internal/control"
	"tipstaff/internal/trailread"
)

// lastCommand is one of the commands before a question.
type lastCommand struct {
	At            time.Time
	Line, Outcome string
	Mark          string
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
	of map[string][]lastCommand // by the handle of the question
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
	found := map[string][]lastCommand{}
	for i := range list {
		q := &list[i]
		known, ok := s.recent.of[q.Approval]
		if !ok {
			known = s.lastOf(ctx, q.Question)
		}
		found[q.Approval], q.Last = known, known
	}
	s.recent.of = found
}

// lastOf reads the trails for the last commands of a question's session.
func (s *Server) lastOf(ctx context.Context, q control.Question) []lastCommand {
	if q.Session == "" {
		return nil
	}
	trails, err := trailread.Find(s.opts.Trails)
	if err != nil {
		return nil
	}
	lines, _, err := trailread.Last(ctx, trails, &trailread.Filter{Session: q.Session, Event: trailread.Word{Text: "command.", Prefix: true}}, lastRead)
	if err != nil {
		return nil
	}
	var all []lastCommand
	at := map[string]int{}
	for i := range lines {
		r := &lines[i].Record
		line := trailread.CommandLine(r)
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
		all = append(all, lastCommand{At: r.Time, Line: line, Outcome: outcome, Mark: sign})
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
