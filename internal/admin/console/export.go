package console

import (
	"mime"
	"net/http"
	"time"

	"tipstaff/internal/audit/query"
)

// trailExport streams what is asked to a file of the browser.
func (s *Server) trailExport(w http.ResponseWriter, r *http.Request) error {
	asked := askedOf(r.URL.Query())
	f, err := asked.Filter(time.Now())
	if err != nil {
		return &problem{Status: http.StatusBadRequest, Title: "This cannot be exported", Text: err.Error()}
	}
	out := &unhurried{w: w, ctrl: http.NewResponseController(w)}
	if r.URL.Query().Get("format") != "jsonl" {
		return &problem{Status: http.StatusBadRequest, Title: "There is no such format", Text: "Records are exported as jsonl; tipstaff audit export knows ocsf as well."}
	}
	to := query.NewJSONL(out)
	attach(w, "application/jsonl", "tipstaff-trail.jsonl")
	done, err := s.study.read(r.Context())
	if err != nil {
		return err
	}
	defer done()
	trails, err := s.find(r.URL.Query().Get("machine"))
	if err != nil {
		return err
	}
	_, err = query.Read(r.Context(), trails, f, to.Write)
	if err == nil {
		err = to.Close()
	}
	if err != nil {
		// The file is cut off, and the browser must see that it is.
		s.opts.Log.Warn("an export has ended early", "error", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// attach makes the answer a file that the browser saves.
func attach(w http.ResponseWriter, kind, name string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
}

// unhurried writes to a browser that reads as it likes, but not to one that
// stopped reading.
type unhurried struct {
	w     http.ResponseWriter
	ctrl  *http.ResponseController
	until time.Time
}

func (u *unhurried) Write(p []byte) (int, error) {
	if now := time.Now(); u.until.Sub(now) < slowest {
		u.until = now.Add(3 * slowest)
		_ = u.ctrl.SetWriteDeadline(u.until) // a test's recorder has none
	}
	return u.w.Write(p)
}
