package httpfront

import (
	"net/http"
	"net/netip"
	"time"

	"tipstaff/internal/identity"
)

// failures bounds how often an address is told that a credential is not valid.
//
// It never stands before the check: a caller with a good credential gets through,
// whatever others do at its address, which may be that of a proxy. That costs
// little, for a token that could be guessed is none that the server takes. What it
// bounds is how fast somebody can try, and it tells a client that repeats a
// credential which has expired to stop.
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

// wait notes that a request was refused, and says how long its address should
// leave it; 0: not yet.
func (f *failures) wait(r *http.Request, no *identity.Refusal) time.Duration {
	if r.Header["Authorization"] == nil && no.Status != http.StatusForbidden {
		return 0 // it guesses nothing: so clients ask where tokens are to be had
	}
	if no.Status >= http.StatusInternalServerError {
		return 0 // it may be good
	}
	return f.by.wait(place(r.RemoteAddr))
}

// place is what one peer has for itself: an IPv4 address, or the 64 bits of an
// IPv6 network, in which it can take any address.
func place(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote // a Unix socket: one place
	}
	a := at.Addr().Unmap().WithZone("")
	if a.Is6() {
		if net, err := a.Prefix(64); err == nil {
			return net.String()
		}
	}
	return a.String()
}
