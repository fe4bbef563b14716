package metrics

import (
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// Address checks where to listen, "HOST:PORT", and completes it: without a host it
// is this machine alone. Whoever wants others to reach it has to write so.
func Address(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "", errors.New(`must be an address with a port, as "127.0.0.1:9464"`)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", errors.New("the port must be a number from 0 to 65535; 0 takes any that is free")
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// loopback reports whether only this machine reaches addr.
func loopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// ownName lets through what was asked of this machine by a name of its own. A page
// in a browser here can make its own name lead to 127.0.0.1 and would read what
// others may not; the browser then sends the name of the page.
func ownName(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		ip := net.ParseIP(strings.Trim(host, "[]"))
		if (ip == nil || !ip.IsLoopback()) && !strings.EqualFold(host, "localhost") {
			http.Error(w, "ask by the address or as localhost", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
