package egress

import (
	"crypto/subtle"
	"net/http"
)

// ServeHTTP handles one request of a program: check the token, parse the
// target, decide, connect.
func (d *sessionListener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := d.serve(w, r); err != nil {
		d.answer(w, r, err)
	}
}

// serve returns an error only if nothing has been answered yet.
func (d *sessionListener) serve(w http.ResponseWriter, r *http.Request) error {
	head, whole := clientOf(r.Context()).header()
	if err := d.hasToken(r); err != nil {
		return err
	}
	if !whole {
		return malformed("the header of the request has no clear end")
	}
	t, err := parseRequest(r, head)
	if err != nil {
		return err
	}
	upstream, err := d.proxy.reach(r.Context(), t)
	if err != nil {
		return err
	}
	defer func() { _ = upstream.Close() }()
	if r.Method == http.MethodConnect {
		return d.tunnel(w, r, t, upstream)
	}
	d.pass(w, r, t, upstream)
	return nil
}

// user is the user name that HTTP authentication requires beside the token.
const user = "tipstaff"

// hasToken checks the token of the session.
func (d *sessionListener) hasToken(r *http.Request) error {
	credentials := r.Header.Values("Proxy-Authorization")
	basic := http.Request{Header: http.Header{"Authorization": credentials}}
	name, token, ok := basic.BasicAuth()
	same := subtle.ConstantTimeCompare([]byte(name+":"+token), []byte(user+":"+d.token)) == 1
	if len(credentials) == 1 && ok && same {
		return nil
	}
	return &answer{
		status: http.StatusProxyAuthRequired, reason: badToken,
		text: "the proxy wants the name and the token that stand in HTTP_PROXY; use the address from there as it is",
	}
}
