package httpserver

import (
	"net/http"
	"net/netip"
	"time"

	"tipstaff/internal/front/authn"
)

// failures limits how often an address is told that a credential is not valid.
//
// The credential is always checked first: a caller with a good one gets
// through, whatever others send from the same address, which may be that of a
// proxy. That is safe, because the server takes no tokens that could be
// guessed. What is limited is how fast credentials can be tried; it also tells
// a client that repeats an expired credential to stop.
type failures struct{ by *rateLimit }

const (
	failuresEach  = 5    // a second
	failuresBurst = 20   // at once
	failuresKnown = 4096 // addresses that are remembered, about 150 bytes each
)

func newFailures() *failures {
	p := newRateLimit(failuresEach)
	p.burst, p.most = failuresBurst, failuresKnown
	return &failures{p}
}

// wait counts a refused request and returns how long its address should wait
// before the next; 0: it need not wait.
func (f *failures) wait(r *http.Request, no *authn.Refusal) time.Duration {
	if r.Header["Authorization"] == nil && no.Status != http.StatusForbidden {
		return 0 // without a credential nothing is guessed: clients ask this way where tokens are issued
	}
	if no.Status >= http.StatusInternalServerError {
		return 0 // the credential could not be checked and may be good
	}
	return f.by.wait(place(r.RemoteAddr))
}

// place returns the key under which a peer is counted: an IPv4 address, or the
// first 64 bits of an IPv6 address, because a peer can use any address below
// them.
func place(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote // a Unix socket: all peers share one key
	}
	a := at.Addr().Unmap().WithZone("")
	if a.Is6() {
		if net, err := a.Prefix(64); err == nil {
			return net.String()
		}
	}
	return a.String()
}
