package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/audit/query"
)

func (s *Server) routesTrail(mux *http.ServeMux) {
	mux.Handle("GET /trail", s.page(s.trail))
	mux.Handle("GET /trail/record/{trail}/{seq}", s.page(s.trailRecord))
	mux.Handle("GET /trail/proof/{trail}/{seq}", s.page(s.trailProof))
	mux.Handle("GET /trail/export", s.page(s.trailExport))
}

const (
	// trailRows is how many records a page has.
	trailRows = 100
	// trailPatience is how long a search goes on for one page.
	trailPatience = 2 * time.Second
)

// trailView is what the page Trail shows.
type trailView struct {
	Source sourceView
	Asked  query.Query
	// Machine is whose copies are searched, where it is a fleet; "": all.
	Machine string
	Wrong   *query.FieldError // a field that cannot be read
	Any     bool              // a field is given
	Rows    []trailRow
	Events  []audit.Event
	Proof   proofView
	// Older and Newer lead to the next pages; "" if there is none. Newest leads
	// to the first one.
	Older, Newer, Newest string
	Reached              time.Time // the search went as far as this, and no further
	JSONL                string    // where the same is exported
	Faults               query.Faults
	NoTrail              bool
}

// trailRow is one record in the list.
type trailRow struct {
	Record   *audit.Record
	Line     string
	Outcome  string
	Mark     string
	By, Why  string
	Trail    string
	Machine  string
	Link     string
	Verified bool
}

func (s *Server) trail(w http.ResponseWriter, r *http.Request) error {
	s.trails.refresh(s.ending, &s.study.work)
	s.study.proof.look(s.ending, &s.study.work)
	v := trailView{Asked: askedOf(r.URL.Query()), Events: trailEvents(), Proof: s.study.proof.view(), Source: s.trails.view()}
	if v.Source.Fleet {
		v.Machine = r.URL.Query().Get("machine")
	}
	v.Any = v.Asked != query.Query{} || v.Machine != ""
	address := v.fields()
	v.Newest = "/trail?" + address.Encode()
	address.Set("format", "jsonl")
	v.JSONL = "/trail/export?" + address.Encode()
	f, err := v.Asked.Filter(time.Now())
	if errors.As(err, &v.Wrong) {
		return s.showTrail(w, r, &v, http.StatusBadRequest)
	}
	turn, err := turnOf(r.URL.Query())
	if err != nil {
		return &problem{Status: http.StatusBadRequest, Title: "There is no such page of the trail", Text: err.Error()}
	}
	if err := s.searchTrail(r.Context(), &v, f, turn); err != nil {
		return err
	}
	return s.showTrail(w, r, &v, 0)
}

func (s *Server) showTrail(w http.ResponseWriter, r *http.Request, v *trailView, status int) error {
	return s.show(w, r, view{
		Page: "trail", Title: "Trail", Here: "/trail", Styles: []string{"study.css"}, Status: status, Data: v,
	})
}

// searchTrail reads one page of what is asked.
func (s *Server) searchTrail(ctx context.Context, v *trailView, f *query.Filter, turn query.PageRange) error {
	done, err := s.study.read(ctx)
	if err != nil {
		return err
	}
	defer done()
	trails, err := s.find(v.Machine)
	if err != nil {
		return err
	}
	v.NoTrail = len(trails) == 0 && v.Machine == ""
	ctx, cancel := context.WithTimeout(ctx, trailPatience)
	defer cancel()
	p, err := query.ReadPage(ctx, trails, f, turn, trailRows)
	if err != nil {
		return s.trails.unreadable(err)
	}
	for i := range p.Lines {
		v.Rows = append(v.Rows, s.rowOf(&p.Lines[len(p.Lines)-1-i])) // the newest first
	}
	v.Faults = p.Stats.Faults
	v.turn(&p, turn)
	return nil
}

// turn sets the links to the next pages.
func (v *trailView) turn(p *query.Page, turn query.PageRange) {
	link := func(name string, c query.Cursor) string {
		q := v.fields()
		q.Set(name, c.String())
		return "/trail?" + q.Encode()
	}
	forward := !turn.After.IsZero()
	v.Reached = p.Reached
	if len(p.Lines) > 0 {
		oldest, newest := query.CursorOf(&p.Lines[0]), query.CursorOf(&p.Lines[len(p.Lines)-1])
		if forward {
			v.Older = link("before", oldest)
		} else if !turn.Before.IsZero() {
			v.Newer = link("after", newest)
		}
	}
	switch {
	case p.More && forward:
		v.Newer = link("after", p.Next)
	case p.More:
		v.Older = link("before", p.Next)
	}
}

func (s *Server) rowOf(l *query.Line) trailRow {
	r := &l.Record
	outcome, sign := eventWords(r)
	records, _, _ := s.study.proof.reach(l.Trail.Path)
	row := trailRow{
		Record: r, Line: query.CommandLine(r), Outcome: outcome, Mark: sign, By: r.Decision.Rule, Why: cmp.Or(r.Why, r.Error),
		Trail: l.Trail.Name(), Machine: machineOf(l.Trail), Link: recordLink(l), Verified: r.Seq <= records,
	}
	return row
}

// eventWords says in words what a record is about, and its mark.
func eventWords(r *audit.Record) (words, sign string) {
	switch r.Event {
	case audit.CommandStart:
		return "started", "runs"
	case audit.CommandAsked:
		return "waits for a person", "waits"
	case audit.CommandInput:
		return "typed", "idle"
	case audit.CommandStopped:
		return "stopped", "ended"
	case audit.CommandJudged:
		return "judged", "idle"
	case audit.CommandReported:
		return "reported", "idle"
	case audit.CallRefused:
		return "call refused", "failed"
	case audit.SessionCreate:
		return "session begun", "idle"
	case audit.SessionRefused:
		return "session refused", "failed"
	case audit.SessionClose:
		return "session closed", "idle"
	case audit.ServerStart:
		return "server started", "idle"
	case audit.ServerStop:
		return "server ended", "ended"
	case audit.FreezeSet:
		return "frozen", "frozen"
	case audit.FreezeLifted:
		return "freeze lifted", "good"
	case audit.PolicyReload:
		return "policy read", "idle"
	}
	if words, sign = outcomeOf(r); words != "" {
		return words, sign
	}
	return string(r.Event), "idle"
}

// recordLink leads to one record.
func recordLink(l *query.Line) string {
	return "/trail/record/" + url.PathEscape(keyOf(l.Trail)) + "/" + seqText(l.Record.Seq)
}

// trailFields are the fields of the form, in their order, by the names of the
// flags of audit search.
func trailFields(a *query.Query) []struct {
	name string
	text *string
} {
	return []struct {
		name string
		text *string
	}{
		{"agent", &a.Agent}, {"task", &a.Task}, {"session", &a.Session}, {"principal", &a.Principal}, {"command", &a.Command},
		{"event", &a.Event}, {"code", &a.Code}, {"cmd", &a.Cmd}, {"exit", &a.Exit}, {"since", &a.Since}, {"until", &a.Until},
	}
}

func askedOf(q url.Values) (a query.Query) {
	for _, f := range trailFields(&a) {
		*f.text = q.Get(f.name)
	}
	a.Denied = q.Get("denied") != ""
	return a
}

// fieldsOf returns the fields that are given.
func fieldsOf(a query.Query) url.Values {
	q := url.Values{}
	for _, f := range trailFields(&a) {
		if *f.text != "" {
			q.Set(f.name, *f.text)
		}
	}
	if a.Denied {
		q.Set("denied", "1")
	}
	return q
}

// fields returns the fields of the form that are given.
func (v *trailView) fields() url.Values {
	q := fieldsOf(v.Asked)
	if v.Machine != "" {
		q.Set("machine", v.Machine)
	}
	return q
}

// find finds the trails of a machine of the fleet, or of all.
func (s *Server) find(machine string) ([]query.Trail, error) {
	if !s.trails.here().fleet {
		machine = ""
	}
	all, err := s.trails.find(machine)
	return all, s.trails.unreadable(err)
}

func turnOf(q url.Values) (t query.PageRange, err error) {
	if t.Before, err = query.ParseCursor(q.Get("before")); err == nil {
		t.After, err = query.ParseCursor(q.Get("after"))
	}
	return t, err
}

// trailEvents are the names that the form proposes.
func trailEvents() []audit.Event {
	return []audit.Event{
		audit.CommandStart, audit.CommandEnd, audit.CommandRefused, audit.CommandError, audit.CommandAsked, audit.CommandInput,
		audit.CommandStopped, audit.CommandJudged, audit.CommandReported, audit.CallRefused, audit.SessionCreate, audit.SessionRefused,
		audit.SessionClose, audit.ServerStart, audit.ServerStop, audit.FreezeSet, audit.FreezeLifted, audit.PolicyReload, "command.*", "session.*", "server.*", "freeze.*",
	}
}
