package httpserver

import (
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"

	"tipstaff/internal/front/authn"
)

// Peers authenticates callers over a Unix socket by the user of the process
// that connected, as the kernel reports it. Its principals are "uid:1000" and
// have every scope.
type Peers struct {
	// Users may ask, in addition to root and the user who runs this server.
	Users []int
}

// Authenticate implements [authn.Authenticator].
func (p Peers) Authenticate(r *http.Request) (authn.Principal, error) {
	v := connectionFrom(r)
	if v == nil {
		return authn.Principal{}, unknownPeer(errors.New("the request has no connection"))
	}
	conn, ok := v.Conn.(*net.UnixConn)
	if !ok {
		return authn.Principal{}, unknownPeer(errors.New("the connection is no Unix socket"))
	}
	v.asked.Do(func() { v.user, v.unknown = peerUser(conn) })
	uid, err := v.user, v.unknown
	if err != nil {
		return authn.Principal{}, unknownPeer(err)
	}
	if uid != 0 && uid != os.Geteuid() && !slices.Contains(p.Users, uid) {
		return authn.Principal{}, &authn.Refusal{
			Status: http.StatusForbidden,
			Msg:    "the user with id " + strconv.Itoa(uid) + " may not ask here; the operator can add it to TIPSTAFF_HTTP_USERS",
		}
	}
	return authn.Principal{Name: "uid:" + strconv.Itoa(uid), Scopes: authn.All()}, nil
}

func unknownPeer(err error) *authn.Refusal {
	return &authn.Refusal{Status: http.StatusForbidden, Msg: "the system does not say who you are, or you are a command of tipstaff", Err: err}
}
