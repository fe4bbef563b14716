package console

import (
	"crypto/rand"
	"net"
	"net/http"
	"strings"
)

// contentPolicy is that of every page: nothing but the console's own files.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// headed says on every answer, refusals included, what a browser may do with it.
func headed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// nameLetters are the letters of a name after its first word: 60 bits.
const nameLetters = 12

// newName returns a host name that means this machine in every browser
// (RFC 6761, 6.3), and that no other server has been called by. Cookies know no
// ports: that of a console at 127.0.0.1 would be sent to every other server at
// 127.0.0.1 that its person opens, such as one that an agent has started.
func newName() string {
	return "tipstaff-" + strings.ToLower(rand.Text()[:nameLetters]) + ".localhost"
}

// ownName refuses requests that call the server by another name. A web page can
// make a name of its own lead to this machine (DNS rebinding).
func (s *Server) ownName(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if !strings.EqualFold(host, s.name) {
			http.Error(w, "This console is not called by that name: open the address that 'tipstaff console' has printed.", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// sameOrigin refuses acts that the page of another origin asks for.
func (*Server) sameOrigin(next http.Handler) http.Handler {
	p := http.NewCrossOriginProtection()
	p.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "The page of another origin has asked for this; the console acts only for its own pages.", http.StatusForbidden)
	}))
	return p.Handler(next)
}
