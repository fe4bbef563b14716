package doctor

import (
	"context"
	"errors"
	"os"
	"slices"
	"syscall"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/audit/query"
	"tipstaff/internal/command/cmdline"
)

// Server describes the policy of a running server, according to its record.
type Server struct {
	PID    int       `json:"pid"`
	File   string    `json:"file"`
	SHA256 string    `json:"sha256"` // of the policy file in force
	Since  time.Time `json:"since"`  // when it was last read
	// Refused says why the present file is not in force.
	Refused string `json:"refused,omitempty"`
}

// examineServers reads what running servers have recorded about their policy
// files.
func examineServers(ctx context.Context, dir string) []Server {
	trails, err := query.Find(dir)
	if err != nil {
		return nil // ExamineRecord reports faults of the record
	}
	var out []Server
	for i := range trails {
		if !alive(trails[i].PID()) {
			continue
		}
		if s, ok := examineServer(ctx, &trails[i]); ok {
			out = append(out, s)
		}
	}
	return out
}

// reloadsRead bounds how many reloads back a successful one is looked for.
const reloadsRead = 100

// examineServer reads the policy of one server; ok is false for a server that
// has stopped or has no policy file.
func examineServer(ctx context.Context, t *query.Trail) (s Server, ok bool) {
	s = Server{PID: t.PID()}
	last := func(e audit.Event) []query.Line {
		lines, _, err := query.Last(ctx, []query.Trail{*t}, &query.Filter{Event: query.Word{Text: string(e)}}, reloadsRead)
		if err != nil {
			return nil
		}
		return lines
	}
	if len(last(audit.ServerStop)) > 0 {
		return s, false
	}
	known := append(last(audit.ServerStart), last(audit.PolicyReload)...)
	for i, l := range slices.Backward(known) {
		r := &l.Record
		if r.Policy == nil {
			continue
		}
		if r.Policy.Outcome == audit.PolicyRefused {
			if i == len(known)-1 {
				s.Refused, s.File, s.SHA256 = r.Error, r.Policy.File, r.Policy.OldSHA256
			}
			continue
		}
		s.File, s.SHA256, s.Since = r.Policy.File, r.Policy.SHA256, r.Time
		break
	}
	return s, s.File != ""
}

// alive reports whether the process pid runs and is not this one.
func alive(pid int) bool {
	if pid <= 0 || pid == os.Getpid() {
		return false
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = process.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}

// finding compares the policy of a running server with the one that a new
// server would have.
func (s *Server) finding(now *Policy) Finding {
	switch {
	case s.Refused != "":
		return fault("server %d: an older policy goes on deciding, because the file cannot be used: %s", s.PID, indented(s.Refused)).
			note("mend it, then it is read within a second (at SIGHUP if it is among the own files that are named here): %s", checkCommand(s.File))
	case s.File == now.File && s.SHA256 != now.SHA256 && now.Error == "":
		return doubt("server %d: decides by an older state of %s (%.12s…)", s.PID, cmdline.Escape(s.File), s.SHA256)
	default:
		return good("server %d: decides by %s since %s (%.12s…)", s.PID, cmdline.Escape(s.File), s.Since.UTC().Format(time.RFC3339), s.SHA256)
	}
}
