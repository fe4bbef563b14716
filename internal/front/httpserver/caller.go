package httpserver

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"tipstaff/internal/front/authn"
)

// known passes a request on if its caller is authenticated, has the scope (if
// one is needed), and is within the rate limit.
func (s *Server) known(scope authn.Scope, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := s.authenticate(r)
		if err != nil {
			s.turnAway(w, r, err)
			return
		}
		if scope != "" && !p.May(scope) {
			s.refuse(w, r, noScope, http.StatusForbidden, "this needs the scope "+string(scope)+", which your credentials do not have")
			return
		}
		if wait := s.rateLimit.wait(p.Name); wait > 0 {
			w.Header().Set("Retry-After", seconds(wait))
			s.refuse(w, r, tooOften, http.StatusTooManyRequests, "you ask too often: no more than "+strconv.Itoa(s.opts.Rate)+" requests a second")
			return
		}
		if !s.share.take(p.Name) {
			w.Header().Set("Retry-After", "1")
			s.refuse(w, r, tooMany, http.StatusTooManyRequests, "you have too many requests under way: let some of them end")
			return
		}
		defer s.share.giveBack(p.Name)
		if v := connectionFrom(r); v != nil {
			defer v.serve()()
		}
		next.ServeHTTP(w, r.WithContext(authn.NewContext(r.Context(), p)))
	})
}

// authenticate asks the authenticator for this kind of connection.
func (s *Server) authenticate(r *http.Request) (authn.Principal, error) {
	if _, unix := arrivedAt(r); unix {
		return Peers{Users: s.opts.Users}.Authenticate(r)
	}
	if s.opts.Callers == nil {
		return authn.Principal{}, &authn.Refusal{Status: http.StatusUnauthorized, Msg: "this server accepts no callers"}
	}
	p, err := s.opts.Callers.Authenticate(r)
	if err == nil && p.Name == "" {
		err = errors.New("the authenticator returned neither a principal nor a refusal")
	}
	return p, err
}

// turnAway tells a client why it is not authenticated.
func (s *Server) turnAway(w http.ResponseWriter, r *http.Request, err error) {
	var no *authn.Refusal
	if !errors.As(err, &no) {
		no = &authn.Refusal{Status: http.StatusInternalServerError, Msg: "tipstaff failed to find out who you are", Err: err}
	}
	if wait := s.failures.wait(r, no); wait > 0 {
		s.slowDown(w, r, wait)
		return
	}
	if no.Challenge != "" {
		w.Header().Set("WWW-Authenticate", no.Challenge)
	}
	if no.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	s.noteRefused(reasonOf(no.Status))
	s.refusalLog.say("caller", "status", no.Status, "remote", r.RemoteAddr, "error", no.Error())
	answer(w, no.Status, no.Msg)
}

// slowDown answers a bad credential from an address that has sent too many of
// them, and closes the connection, so that each further guess needs a new one.
func (s *Server) slowDown(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	w.Header().Set("Connection", "close")
	w.Header().Set("Retry-After", seconds(wait))
	s.refuse(w, r, tooManyFailures, http.StatusTooManyRequests, "your address has sent too many credentials that are not valid here: wait, and look at the one that you send")
}

// seconds formats a waiting time for Retry-After.
func seconds(d time.Duration) string { return strconv.Itoa(max(1, int((d+time.Second-1)/time.Second))) }

// refuse answers a request that is not passed on.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, reason string, status int, text string) {
	s.noteRefused(reason)
	s.refusalLog.say("request", "status", status, "remote", r.RemoteAddr, "host", clipped(r.Host), "origin", clipped(r.Header.Get("Origin")), "why", text)
	answer(w, status, text)
}

// answer sends an error in the form of the protocol, which its clients read.
func answer(w http.ResponseWriter, status int, text string) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": -32600, "message": text}})
	if err != nil {
		body = nil // cannot happen: our own texts can be written as JSON
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a peer that does not read gets no answer
}

// clipped bounds how much text of a client is logged.
func clipped(s string) string { return s[:min(len(s), 200)] }
