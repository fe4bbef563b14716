package console

import (
	"errors"
	"net/http"
)

// problem is an error that a person is shown: what, why, and what to do instead.
type problem struct {
	Status      int
	Title, Text string
}

func (p *problem) Error() string { return p.Title + ": " + p.Text }

func (s *Server) showProblem(w http.ResponseWriter, r *http.Request, err error) {
	var p *problem
	if !errors.As(err, &p) {
		s.opts.Log.Error("cannot show a page", "path", r.URL.Path, "error", err)
		p = &problem{Status: http.StatusInternalServerError, Title: "The console could not do this", Text: err.Error()}
	}
	if err := s.show(w, r, view{Page: "problem", Title: p.Title, Data: p, Status: p.Status}); err != nil {
		http.Error(w, p.Error(), p.Status)
	}
}
