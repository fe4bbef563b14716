package egress

import (
	"bytes"
	"net/http"
	"strings"
)

// parseRequest parses the target of a request. It accepts only unambiguous requests:
// request smuggling needs two parsers that disagree.
func parseRequest(r *http.Request, head []byte) (target, error) {
	w := written(head)
	switch {
	case w.folded:
		return target{}, malformed("a line of the header begins with a blank; write each field on one line")
	case w.hosts > 1, w.lengths > 1:
		return target{}, malformed("the header gives Host or Content-Length twice")
	case w.lengths > 0 && len(r.TransferEncoding) > 0:
		return target{}, malformed("the header gives both Content-Length and Transfer-Encoding; give one")
	}
	if r.Method == http.MethodConnect {
		return parseConnect(r)
	}
	return parseForward(r, w)
}

// parseConnect parses CONNECT HOST:PORT (RFC 9110, 9.3.6). Its Host field is
// not passed on, so it is ignored.
func parseConnect(r *http.Request) (target, error) {
	t, err := parseTarget(r.RequestURI, 0)
	switch {
	case err != nil:
		return target{}, malformed("CONNECT needs HOST:PORT: %v", err)
	case r.ContentLength != 0 || len(r.TransferEncoding) > 0:
		return target{}, malformed("CONNECT has no body")
	}
	return t, nil
}

// parseForward parses METHOD http://HOST[:PORT]/PATH (RFC 9112, 3.2.2).
func parseForward(r *http.Request, w fields) (target, error) {
	switch {
	case r.URL.Scheme == "https":
		return target{}, malformed("the proxy does not speak TLS for others; ask for https with CONNECT")
	case r.URL.Scheme != "http" || r.URL.Opaque != "" || r.URL.Host == "":
		return target{}, malformed("this is a proxy; ask for a whole URL, as in GET http://example.org/")
	case r.URL.User != nil:
		return target{}, malformed("the URL holds a user; send an Authorization header instead")
	}
	t, err := parseTarget(r.URL.Host, 80)
	if err != nil {
		return target{}, malformed("the URL has no usable host: %v", err)
	}
	if w.hosts == 1 {
		if h, err := parseTarget(w.host, 80); err != nil || h != t {
			return target{}, malformed("the Host field is not the host of the URL, %s", t)
		}
	}
	if up := r.Header.Values("Upgrade"); len(up) > 0 && !onlyHTTP2(up) {
		return target{}, &answer{
			status: http.StatusNotImplemented, reason: badUpgrade, host: t.host(),
			text: "the proxy does not change protocols in a plain request; ask with CONNECT, for WebSockets too",
		}
	}
	return t, nil
}

// onlyHTTP2 reports whether a request proposes an upgrade to HTTP/2 only, which
// clients can do without.
func onlyHTTP2(upgrade []string) bool {
	return len(upgrade) == 1 && strings.EqualFold(upgrade[0], "h2c")
}

// fields are the properties of a header that net/http does not report.
type fields struct {
	host    string // the last Host field
	hosts   int
	lengths int
	folded  bool // a line continues the previous one
}

// written parses a header as it was sent. Since net/http has accepted the
// header, it only parses what is needed here.
func written(head []byte) fields {
	var w fields
	first := true
	for line := range bytes.Lines(head) {
		if first { // the request line
			first = false
			continue
		}
		if line[0] == ' ' || line[0] == '\t' {
			w.folded = true
		}
		name, value, _ := strings.Cut(string(line), ":")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "host":
			w.host = strings.TrimSpace(value)
			w.hosts++
		case "content-length":
			w.lengths++
		}
	}
	return w
}
