package console

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Address returns a new one-time address. It counts once, for five minutes, and
// until the next one is made.
func (s *Server) Address() string {
	host := s.name
	if a, ok := s.opts.Listener.Addr().(*net.TCPAddr); ok {
		host = net.JoinHostPort(s.name, portOf(a))
	}
	u := url.URL{Scheme: "http", Host: host, Path: "/enter", RawQuery: url.Values{"key": {s.entrance.newKey(time.Now())}}.Encode()}
	return u.String()
}

// enter lets a browser with a one-time key in. The answer is a page and no
// redirection, because a browser that follows a link of another site would
// leave out a strict cookie.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	if s.entrance.knows(r, time.Now()) {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	cookie, ok := s.entrance.admit(r.URL.Query().Get("key"), time.Now())
	if !ok {
		s.refuseEntry(w, r)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	if err := s.show(w, r, view{Page: "enter", Title: "Come in"}); err != nil {
		s.showProblem(w, r, err)
	}
}

// entered refuses browsers that have not come in.
func (s *Server) entered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.entrance.knows(r, time.Now()) {
			s.refuseEntry(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuseEntry tells nothing of what is inside. A browser that followed a link
// from elsewhere has left its strict cookie out, and is told to come again from
// here.
func (s *Server) refuseEntry(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		http.Error(w, "Open the one-time address that 'tipstaff console' prints.", http.StatusForbidden)
		return
	}
	if err := s.show(w, r, view{Page: "refused", Title: "Not yet in", Status: http.StatusForbidden}); err != nil {
		s.showProblem(w, r, err)
	}
}
