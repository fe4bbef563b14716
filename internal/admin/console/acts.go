package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tipstaff"
	"tipstaff/internal/admin/api"
	"tipstaff/internal/policy/freeze"
)

// What a person does to what runs. Each act is asked for by a page of its own, which
// says what will happen and has the focus on its button, and done by a form. The
// servers record it.

func (s *Server) routesActs(mux *http.ServeMux) {
	mux.Handle("GET /stop", s.page(s.askStop))
	mux.Handle("POST /stop", s.page(s.stop))
	mux.Handle("GET /freeze", s.page(s.askFreeze))
	mux.Handle("POST /freeze", s.page(s.freeze))
	mux.Handle("GET /lift", s.page(s.askLift))
	mux.Handle("POST /lift", s.page(s.lift))
}

// stopView is what would be ended.
type stopView struct {
	ID      string
	Command *api.Command
	Session *api.Session
	Of      []api.Command // of the session
}

func (s *Server) askStop(w http.ResponseWriter, r *http.Request) error {
	v := stopView{ID: r.URL.Query().Get("id")}
	o := s.now.latest(r.Context()).overview
	v.Command, v.Session = find(o, v.ID), findSession(o, v.ID)
	if v.Command == nil && v.Session == nil {
		return &problem{Status: http.StatusNotFound, Title: "There is nothing to stop", Text: "It has ended already, or its server has."}
	}
	if v.Session != nil {
		for _, server := range o.Servers {
			for _, c := range server.Commands {
				if c.Session == v.ID {
					v.Of = append(v.Of, c)
				}
			}
		}
	}
	return s.show(w, r, view{Page: "stop", Title: "Stop", Here: "/now", Data: v})
}

func (s *Server) stop(w http.ResponseWriter, r *http.Request) error {
	how := r.FormValue("how")
	if how != "stop" && how != "kill" {
		return &problem{Status: http.StatusBadRequest, Title: "Nothing was stopped", Text: "The form says neither stop nor kill."}
	}
	defer s.now.act()
	done, err := s.admin.Stop(r.Context(), r.FormValue("id"), how == "kill")
	switch {
	case errors.Is(err, api.ErrUnknown):
		return &problem{Status: http.StatusConflict, Title: "There was nothing to stop", Text: "It had ended already, or its server has."}
	case err != nil:
		return &problem{Status: http.StatusBadGateway, Title: "It could not be stopped", Text: err.Error()}
	}
	notice := plural(len(done.Commands), "command is being ended.", "commands are being ended.")
	switch {
	case len(done.Sessions) > 0 && len(done.Commands) == 0:
		notice = "The session is ended."
	case len(done.Sessions) > 0:
		notice = "The session is ended; of it " + notice
	case len(done.Commands) == 1:
		notice = "Is being ended with all its processes: " + done.Commands[0].Line
	}
	s.entrance.leaveNotice(r, notice)
	http.Redirect(w, r, "/now", http.StatusSeeOther)
	return nil
}

// freezeView is who would be frozen, and what runs of it.
type freezeView struct {
	Target freeze.Target
	What   string
	Query  string
	Of     []api.Command
	Wider  []frozenView // other names of whom it concerns, which take in more
	Entry  *frozenView  // set where it is frozen
}

func (s *Server) freezeViewOf(r *http.Request) (freezeView, error) {
	t := readTarget(r.URL.Query())
	if err := t.Check(); err != nil {
		return freezeView{}, &problem{Status: http.StatusBadRequest, Title: "This names nobody", Text: err.Error()}
	}
	v := freezeView{Target: t, What: t.String(), Query: queryOf(t)}
	o := s.now.latest(r.Context()).overview
	for _, server := range o.Servers {
		for _, c := range server.Commands {
			if holds(t, c.Who, c.Session) {
				v.Of = append(v.Of, c)
				v.widen(c.Who)
			}
		}
		for _, session := range server.Sessions {
			if holds(t, session.Who, session.ID) {
				v.widen(session.Who)
			}
		}
	}
	for _, e := range o.Frozen {
		if e.Target == t {
			v.Entry = &frozenView{e, v.What, v.Query}
		}
	}
	return v, nil
}

// widen notes the client and the caller of what a freeze holds for.
func (v *freezeView) widen(w api.Who) {
	for _, t := range []freeze.Target{{Client: freeze.ClientName(w.Client)}, {Principal: w.Principal}} {
		known := slices.ContainsFunc(v.Wider, func(f frozenView) bool { return f.Target == t })
		narrower := t == v.Target || t.Client != "" && v.Target.Client == "" && v.Target.Agent == "" && v.Target.Principal != ""
		if t != (freeze.Target{}) && !known && !narrower {
			v.Wider = append(v.Wider, frozenView{freeze.Entry{Target: t}, t.String(), queryOf(t)})
		}
	}
}

// holds reports whether a freeze would take in a command or a session, for people to
// see before; the servers decide.
func holds(t freeze.Target, w api.Who, session string) bool {
	return t.Holds(tipstaff.Origin{Agent: w.Agent, Task: w.Task, Client: w.Client, Principal: w.Principal}, tipstaff.SessionID(session))
}

func (s *Server) askFreeze(w http.ResponseWriter, r *http.Request) error {
	v, err := s.freezeViewOf(r)
	if err != nil {
		return err
	}
	return s.show(w, r, view{Page: "freeze", Title: "Freeze", Here: "/now", Data: v})
}

func (s *Server) freeze(w http.ResponseWriter, r *http.Request) error {
	t, err := postedTarget(r)
	if err != nil {
		return err
	}
	defer s.now.act()
	done, err := s.admin.Freeze(r.Context(), t, r.PostFormValue("why"))
	if err != nil && done.Servers > 0 {
		return &problem{Status: http.StatusBadGateway, Title: "Frozen, but not every server has answered", Text: fmt.Sprintf(
			"%s: its commands are refused, and %s. What runs on a server that has not answered goes on there; once it answers again it starts nothing more. %s.",
			t, plural(len(done.Commands), "command is being ended", "commands are being ended"), strings.ReplaceAll(err.Error(), "\n", "; "))}
	}
	if err != nil {
		return &problem{Status: http.StatusBadGateway, Title: "Not everything went well with the freeze of " + t.String(), Text: err.Error()}
	}
	notice := fmt.Sprintf("Frozen: %s. %s", t, plural(len(done.Commands), "command is being ended", "commands are being ended"))
	if done.Already {
		notice = fmt.Sprintf("Was frozen already: %s. %s", t, plural(len(done.Commands), "command is being ended", "commands are being ended"))
	}
	s.entrance.leaveNotice(r, notice)
	http.Redirect(w, r, "/now", http.StatusSeeOther)
	return nil
}

func (s *Server) askLift(w http.ResponseWriter, r *http.Request) error {
	v, err := s.freezeViewOf(r)
	if err != nil {
		return err
	}
	if v.Entry == nil {
		return &problem{Status: http.StatusNotFound, Title: "This is not frozen", Text: "Nothing has to be lifted: " + v.What}
	}
	return s.show(w, r, view{Page: "lift", Title: "Lift", Here: "/now", Data: v})
}

func (s *Server) lift(w http.ResponseWriter, r *http.Request) error {
	t, err := postedTarget(r)
	if err != nil {
		return err
	}
	defer s.now.act()
	switch _, err := s.admin.Lift(r.Context(), t); {
	case errors.Is(err, freeze.ErrNotFrozen):
		return &problem{Status: http.StatusConflict, Title: "This is not frozen", Text: "It was lifted already: " + t.String()}
	case err != nil:
		return &problem{Status: http.StatusBadGateway, Title: "It could not be lifted", Text: err.Error()}
	}
	s.entrance.leaveNotice(r, "Lifted: "+t.String()+". Its commands run again by the policy.")
	http.Redirect(w, r, "/now", http.StatusSeeOther)
	return nil
}

// postedTarget reads a target from a form.
func postedTarget(r *http.Request) (freeze.Target, error) {
	q, err := url.ParseQuery(r.PostFormValue("target"))
	if err != nil {
		return freeze.Target{}, &problem{Status: http.StatusBadRequest, Title: "This names nobody", Text: err.Error()}
	}
	t := readTarget(q)
	if err := t.Check(); err != nil {
		return freeze.Target{}, &problem{Status: http.StatusBadRequest, Title: "This names nobody", Text: err.Error()}
	}
	return t, nil
}
