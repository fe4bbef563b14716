package console

import (
	"context"
	"errors"
	"net/http"
	"time"

	"tipstaff/internal/inspect/doctor"
)

func (s *Server) routesHealth(mux *http.ServeMux) {
	mux.Handle("GET /health", s.page(s.healthPage))
	mux.Handle("POST /health", s.page(s.examine))
}

// healthFresh is how old the findings may be that a look is shown.
const healthFresh = time.Minute

// healthView is what the page Health shows.
type healthView struct {
	Ready, Running         bool
	Made                   time.Time
	Fault                  string // doctor itself has failed
	Findings               []findingView
	Faults, Doubts, Passed int
}

type findingView struct {
	Level, Mark, Text string
	Notes             []string
}

var errNoInsight = errors.New("this console was started without the settings of a server")

func (s *Server) healthPage(w http.ResponseWriter, r *http.Request) error {
	got := s.study.health.look(s.ending, &s.study.work, struct{}{}, healthFresh, func(ctx context.Context) ([]doctor.Finding, error) {
		if s.opts.Insight == nil {
			return nil, errNoInsight
		}
		return s.opts.Insight.Diagnose(ctx)
	})
	v := healthView{Ready: !got.Made.IsZero(), Running: got.Making, Made: got.Made}
	if got.Err != nil {
		v.Fault = got.Err.Error()
	}
	// What is wrong comes first.
	for _, level := range []doctor.Level{doctor.Fault, doctor.Doubt, doctor.Good} {
		for _, f := range got.Value {
			if f.Level == level {
				v.add(f)
			}
		}
	}
	return s.show(w, r, view{Page: "health", Title: "Health", Here: "/health", Styles: []string{"study.css"}, Data: &v})
}

func (v *healthView) add(f doctor.Finding) {
	one := findingView{Level: "fault", Mark: "failed", Text: f.Text, Notes: f.Notes}
	switch f.Level {
	case doctor.Fault:
		v.Faults++
	case doctor.Doubt:
		one.Level, one.Mark = "could be better", "waits"
		v.Doubts++
	case doctor.Good:
		one.Level, one.Mark = "good", "good"
		v.Passed++
	}
	v.Findings = append(v.Findings, one)
}

// examine has everything examined anew.
func (s *Server) examine(w http.ResponseWriter, r *http.Request) error {
	s.study.health.forget(struct{}{})
	http.Redirect(w, r, "/health", http.StatusSeeOther)
	return nil
}
