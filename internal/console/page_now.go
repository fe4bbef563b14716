package console

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"

	"tipstaff/internal/control"
)

func (s *Server) routesNow(mux *http.ServeMux) {
	mux.Handle("GET /now", s.page(s.showNow))
	mux.Handle("GET /now/live", s.stream(s.nowLive))
	s.routesCommand(mux)
	s.routesActs(mux)
}

func (s *Server) showNow(w http.ResponseWriter, r *http.Request) error {
	return s.show(w, r, view{
		Page: "now", Title: "Now", Here: "/now", Scripts: []string{"now.js"},
		Data: overviewOf(s.now.latest(r.Context())),
	})
}

// nowNews is what has changed on the page Now.
type nowNews struct {
	Order []string `json:"order"` // the ids of all groups
	Parts []piece  `json:"parts"`
}

// nowLive sends the parts of the page that have changed, and the order of the groups.
// What is the same as before is not even rendered: with many sessions that is most.
func (s *Server) nowLive(ctx context.Context, _ *http.Request, n *news) error {
	var before nowView
	return s.now.follow(ctx, func(looked seen) error {
		v := overviewOf(looked)
		all := nowNews{Order: []string{}}
		change := func(id, name string, data any) error {
			html, err := s.part("now", name, data)
			all.Parts = append(all.Parts, piece{id, html})
			return err
		}
		var errs []error
		if !v.sameTop(before) {
			errs = append(errs, change("now-top", "top", v))
		}
		known := map[string]*group{}
		for _, g := range before.Groups {
			known[g.ID] = g
		}
		for _, g := range v.Groups {
			errs = append(errs, g.changes(known[g.ID], change))
			all.Order = append(all.Order, g.ID)
		}
		if !sameServers(v.Servers, before.Servers) {
			errs = append(errs, change("now-foot", "servers", v))
		}
		before = v
		if err := errors.Join(errs...); err != nil {
			return err
		}
		return n.send("now", all)
	})
}

// changes calls change for the parts of a group that are not as before; nil: it was
// not there.
func (g *group) changes(before *group, change func(id, name string, data any) error) error {
	if before == nil {
		return change(g.ID, "group", g)
	}
	var errs []error
	if !reflect.DeepEqual(g.groupHead, before.groupHead) || (len(g.Commands) > 0) != (len(before.Commands) > 0) {
		errs = append(errs, change(g.ID+"-head", "group-head", g))
	}
	if !slices.Equal(g.Commands, before.Commands) {
		errs = append(errs, change(g.ID+"-commands", "group-commands", g))
	}
	if !slices.Equal(g.Idle, before.Idle) {
		errs = append(errs, change(g.ID+"-idle", "group-idle", g))
	}
	return errors.Join(errs...)
}

func (v nowView) sameTop(w nowView) bool {
	return v.Seen == w.Seen && v.Fault == w.Fault && v.Failed == w.Failed && len(v.Groups) == len(w.Groups) &&
		slices.Equal(v.Frozen, w.Frozen) && reflect.DeepEqual(v.Silent, w.Silent) && reflect.DeepEqual(v.Faulty, w.Faulty)
}

// sameServers compares what the table of servers shows.
func sameServers(a, b []control.Running) bool {
	return slices.EqualFunc(a, b, func(a, b control.Running) bool {
		return a.PID == b.PID && a.Key() == b.Key() && a.Silent == b.Silent && len(a.Sessions) == len(b.Sessions) && len(a.Commands) == len(b.Commands) && a.Started.Equal(b.Started)
	})
}
