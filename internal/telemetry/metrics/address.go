package metrics

import (
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// Address checks an address to listen on, "HOST:PORT", and completes it:
// without a host it is 127.0.0.1. To make the metrics reachable from other
// machines, the host must be written.
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

// loopback reports whether addr can only be reached from this machine.
func loopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// ownName passes on only requests whose Host is a name of this machine. Without
// it, a web page in a local browser could make its own name resolve to
// 127.0.0.1 and read the metrics (DNS rebinding); the browser then sends the
// name of the page as Host.
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
