package httpserver

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// guarded refuses requests that a web page in a user's browser may have made:
// those that name another server (DNS rebinding), and those of an origin that
// may not ask. The protocol requires the second check of every server.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // a test's recorder has none
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		local, unix := arrivedAt(r)
		if !unix && !s.ownHost(r.Host, local) {
			s.refuse(w, r, foreignHost, http.StatusForbidden, "this server is not called by that name: ask by its address, or let the operator add the name to TIPSTAFF_HTTP_HOSTS")
			return
		}
		if !s.mayAsk(w, r, local, unix) {
			s.refuse(w, r, foreignOrigin, http.StatusForbidden, "pages of this origin may not ask this server: let the operator add it to TIPSTAFF_HTTP_ORIGINS")
			return
		}
		if r.Method == http.MethodOptions && h.Get("Access-Control-Allow-Origin") != "" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// arrivedAt returns the address of this machine at which a request has arrived.
func arrivedAt(r *http.Request) (local netip.Addr, unix bool) {
	switch a := r.Context().Value(http.LocalAddrContextKey).(type) {
	case *net.UnixAddr:
		return netip.Addr{}, true
	case *net.TCPAddr:
		return a.AddrPort().Addr().Unmap(), false
	}
	return netip.Addr{}, false
}

// ownHost reports whether a Host header names this server. A web page can make
// a name of its own resolve to this machine, but not an address.
func (s *Server) ownHost(host string, local netip.Addr) bool {
	if host == "" {
		return false
	}
	return s.isLocal(hostName(host), local) || listed(s.opts.Hosts, host) || listed(s.opts.Hosts, hostName(host))
}

// isLocal reports whether name can only mean this machine: localhost on a
// loopback connection, or the address at which the request arrived.
func (*Server) isLocal(name string, local netip.Addr) bool {
	if !local.IsValid() {
		return false
	}
	if strings.EqualFold(name, "localhost") {
		return local.IsLoopback()
	}
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	if err != nil {
		return false
	}
	ip = ip.Unmap()
	return ip == local || ip.IsLoopback() && local.IsLoopback()
}

// hostName removes the port.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return host
}

func listed(list []string, s string) bool {
	return slices.ContainsFunc(list, func(l string) bool { return strings.EqualFold(l, s) })
}

// mayAsk checks the origin of a request. Programs send none; browsers send the
// origin of the page, or at least say that it is a different one.
func (s *Server) mayAsk(w http.ResponseWriter, r *http.Request, local netip.Addr, unix bool) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		site := r.Header.Get("Sec-Fetch-Site")
		return site == "" || site == "none" || site == "same-origin"
	}
	if len(origins) != 1 || !s.ownOrigin(origins[0], local, unix) {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origins[0])
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate, Retry-After")
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name")
		h.Set("Access-Control-Max-Age", "600")
	}
	return true
}

// ownOrigin reports whether pages of an origin may ask: those that the operator
// has listed, and those of this machine if the request has not left it.
func (s *Server) ownOrigin(origin string, local netip.Addr, unix bool) bool {
	if listed(s.opts.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || unix || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	if u.Scheme+"://"+u.Host != strings.ToLower(origin) {
		return false // an origin is only a scheme and a host; browsers send no user, path or query
	}
	return local.IsLoopback() && s.isLocal(u.Hostname(), local)
}
