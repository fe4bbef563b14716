package httpserver

import (
	"encoding/json"
	"net/http"
)

// health answers that the server is alive.
func health(w http.ResponseWriter, _ *http.Request) {
	show(w, http.StatusOK, map[string]string{"status": "ok"})
}

// ready answers whether commands could run. Load balancers have no credentials,
// so the answer is public and says nothing about the host.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	var r Readiness
	if s.opts.Ready != nil {
		r = s.opts.Ready()
	}
	status := http.StatusOK
	if !r.Ready {
		status = http.StatusServiceUnavailable
	}
	show(w, status, r)
}

func show(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a peer that does not read gets no answer
}
