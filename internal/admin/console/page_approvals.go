package console

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"time"

	"tipstaff/internal/admin/api"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/approval"
)

func (s *Server) routesApprovals(mux *http.ServeMux) {
	mux.Handle("GET /approvals", s.page(s.approvals))
	mux.Handle("GET /approvals/live", s.stream(s.approvalsLive))
	mux.Handle("POST /approvals/{handle}", s.page(s.answer))
}

// approvalsView is what the page shows of open questions.
type approvalsView struct {
	Open     []questionView
	Answered []api.Question // not used yet, or the caller is not told yet
	Fault    string         // which servers did not answer
}

type questionView struct {
	api.Question
	Last []lastCommand // of its session, the newest last
	Cwd  string        // where its session was last, if a gateway asks
}

func (s *Server) lookAtQuestions(r *http.Request) approvalsView {
	var v approvalsView
	list, err := s.opts.Questions.List()
	if err != nil {
		v.Fault = err.Error()
	}
	for _, q := range list {
		if q.State == string(policy.Pending) {
			v.Open = append(v.Open, questionView{Question: q})
		} else {
			v.Answered = append(v.Answered, q)
		}
	}
	s.before(r.Context(), v.Open)
	return v
}

func (s *Server) approvals(w http.ResponseWriter, r *http.Request) error {
	return s.show(w, r, view{
		Page: "approvals", Title: "Approvals", Here: "/approvals", Scripts: []string{"approvals.js"},
		Data: s.lookAtQuestions(r),
	})
}

// answer takes a person's answer from the form of a question.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) error {
	handle := r.PathValue("handle")
	var q api.Question
	var err error
	var said string
	switch r.FormValue("answer") {
	case "once":
		q, err = s.opts.Questions.Approve(handle, false)
		said = "Allowed once: "
	case "session":
		q, err = s.opts.Questions.Approve(handle, true)
		said = "Allowed for the rest of its session: "
	case "deny":
		q, err = s.opts.Questions.Deny(handle, r.FormValue("comment"))
		said = "Denied: "
	default:
		return &problem{Status: http.StatusBadRequest, Title: "This is no answer", Text: "A question is answered with: allow once, allow for the session, or deny. Nothing was changed."}
	}
	switch {
	case errors.Is(err, approval.ErrNotOpen):
		return &problem{Status: http.StatusConflict, Title: "This question is not open any more", Text: "It was answered, it has expired, or its server has ended. Nothing was changed."}
	case err != nil:
		return &problem{Status: http.StatusConflict, Title: "The answer was not taken", Text: err.Error()}
	}
	s.entrance.leaveNotice(r, said+q.Command)
	http.Redirect(w, r, "/approvals", http.StatusSeeOther)
	return nil
}

// approvalsLive sends the questions whenever they change.
func (s *Server) approvalsLive(ctx context.Context, r *http.Request, n *news) error {
	tick := time.NewTicker(questionsEvery)
	defer tick.Stop()
	var before approvalsView
	for first := true; ; first = false {
		v := s.lookAtQuestions(r)
		if first || !reflect.DeepEqual(v, before) {
			html, err := s.part("approvals", "questions", v)
			if err != nil {
				return err
			}
			if err := n.send("part", piece{"questions", html}); err != nil {
				return nil // the browser has gone
			}
			before = v
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// questionsEvery is how often servers are asked for questions while a person looks.
const questionsEvery = 500 * time.Millisecond
