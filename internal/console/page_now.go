package console

import (
	"context"
	"net/http"
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

// nowLive sends the parts of the page that have changed, and the order of the
// groups if one came, went or changed its place.
func (s *Server) nowLive(ctx context.Context, _ *http.Request, n *news) error {
	sent := map[string]string{}
	return s.now.follow(ctx, func(looked seen) error {
		v := overviewOf(looked)
		var all nowNews
		current := map[string]string{}
		change := func(id, name string, data any) error {
			html, err := s.part("now", name, data)
			if err != nil {
				return err
			}
			still := ageless(html)
			current[id] = still
			if before, ok := sent[id]; !ok || before != still {
				all.Parts = append(all.Parts, piece{id, html})
			}
			return nil
		}
		if err := change("now-top", "top", v); err != nil {
			return err
		}
		for _, g := range v.Groups {
			if err := change(g.ID, "group", g); err != nil {
				return err
			}
			all.Order = append(all.Order, g.ID)
		}
		if err := change("now-foot", "servers", v); err != nil {
			return err
		}
		sent = current
		return n.send("now", all)
	})
}

// nowNews is what has changed on the page Now.
type nowNews struct {
	Order []string `json:"order"` // the ids of all groups
	Parts []piece  `json:"parts"`
}
