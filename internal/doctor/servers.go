package doctor

import (
	"context"
	"errors"
	"os"
	"slices"
	"syscall"
	"time"

	"tipstaff/internal/argv"
	"tipstaff/internal/audit"
	"tipstaff/internal/trailread"
)

// Server is the policy of a running server, as its record tells.
type Server struct {
	PID    int       `json:"pid"`
	File   string    `json:"file"`
	SHA256 string    `json:"sha256"` // of the file that decides
	Since  time.Time `json:"since"`  // it was read last
	// Refused says why the file that is there now does not decide.
	Refused string `json:"refused,omitempty"`
}

// examineServers reads what running servers have recorded of their policy files.
func examineServers(ctx context.Context, dir string) []Server {
	trails, err := trailread.Find(dir)
	if err != nil {
		return nil // what there is to say of the record is said there
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

// reloadsRead bounds how far back a good reload is looked for.
const reloadsRead = 100

// examineServer reads the policy of one server; ok is false for one that has
// stopped, and for one without a policy file.
func examineServer(ctx context.Context, t *trailread.Trail) (s Server, ok bool) {
	s = Server{PID: t.PID()}
	last := func(e audit.Event) []trailread.Line {
		lines, _, err := trailread.Last(ctx, []trailread.Trail{*t}, &trailread.Filter{Event: trailread.Word{Text: string(e)}}, reloadsRead)
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

// alive reports whether another process runs.
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

// finding tells of a server beside the policy that one would have that starts now.
func (s *Server) finding(now *Policy) Finding {
	switch {
	case s.Refused != "":
		return fault("server %d: an older policy goes on deciding, because the file cannot be used: %s", s.PID, indented(s.Refused)).
			note("mend it, then it is read within a second (at SIGHUP if it is among the own files that are named here): %s", checkCommand(s.File))
	case s.File == now.File && s.SHA256 != now.SHA256 && now.Error == "":
		return doubt("server %d: decides by an older state of %s (%.12s…)", s.PID, argv.Escape(s.File), s.SHA256)
	default:
		return good("server %d: decides by %s since %s (%.12s…)", s.PID, argv.Escape(s.File), s.Since.UTC().Format(time.RFC3339), s.SHA256)
	}
}
