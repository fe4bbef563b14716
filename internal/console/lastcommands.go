package console

import (
	"context"
	"strconv"
	"time"

	"tipstaff/internal/audit"
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

// lastOf returns the last commands of a session, the newest last, from the trails.
// Nothing is shown where they cannot be read; the page Health says so.
func (s *Server) lastOf(ctx context.Context, session string) []lastCommand {
	if session == "" {
		return nil
	}
	trails, err := trailread.Find(s.opts.Trails)
	if err != nil {
		return nil
	}
	lines, _, err := trailread.Last(ctx, trails, &trailread.Filter{Session: session, Event: trailread.Word{Text: "command.", Prefix: true}}, lastRead)
	if err != nil {
		return nil
	}
	var all []lastCommand
	at := map[string]int{}
	for i := range lines {
		r := &lines[i].Record
		if outcome, sign := outcomeOf(r); outcome != "" {
			id := string(r.Trace.CommandID)
			if n, ok := at[id]; ok && id != "" {
				all[n].Outcome, all[n].Mark = outcome, sign
				continue
			}
			at[id] = len(all)
			all = append(all, lastCommand{At: r.Time, Line: trailread.CommandLine(r), Outcome: outcome, Mark: sign})
		}
	}
	return all[max(0, len(all)-lastShown):]
}

// outcomeOf says in a word what a record tells of a command, and its mark; "" if
// it tells nothing.
func outcomeOf(r *audit.Record) (outcome, sign string) {
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
