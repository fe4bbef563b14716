package httpserver

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff/internal/front/authn"
)

func TestWhoGuessesIsSlowedAndWhoKnowsIsNot(t *testing.T) {
	url := serveTCP(t, options()) + "/mcp"
	refused, slowed := 0, 0
	for range 3 * failuresBurst {
		resp, body := ask(t, "POST", url, "Authorization", "Bearer wrong")
		switch resp.StatusCode {
		case http.StatusUnauthorized:
			refused++
		case http.StatusTooManyRequests:
			slowed++
			if resp.Header.Get("Retry-After") == "" || !resp.Close || strings.Contains(body, "operator") {
				t.Fatalf("%v %s", resp.Header, body)
			}
		default:
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		// Its neighbour at the same address notices nothing.
		if resp, body := ask(t, "GET", url); resp.StatusCode != http.StatusOK {
			t.Fatalf("a good caller: %d %s", resp.StatusCode, body)
		}
	}
	if refused < failuresBurst || slowed == 0 {
		t.Errorf("%d were refused and %d slowed", refused, slowed)
	}
}

func refusedFrom(remote string, header http.Header) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/mcp", http.NoBody)
	r.RemoteAddr, r.Header = remote, header
	return r
}

func TestFailuresCountByPlace(t *testing.T) {
	wrong := http.Header{"Authorization": {"Bearer wrong"}}
	denied := &authn.Refusal{Status: http.StatusUnauthorized}
	for _, c := range []struct {
		what          string
		first, second string
		header        http.Header
		no            *authn.Refusal
		slowed        bool
	}{
		{"the same address, another port", "192.0.2.1:1", "192.0.2.1:2", wrong, denied, true},
		{"another address", "192.0.2.1:1", "192.0.2.2:1", wrong, denied, false},
		{"an address of the same network of IPv6", "[2001:db8::1]:1", "[2001:db8::2:3]:1", wrong, denied, true},
		{"another network of IPv6", "[2001:db8::1]:1", "[2001:db8:0:1::1]:1", wrong, denied, false},
		{"an IPv4 address in two spellings", "192.0.2.1:1", "[::ffff:192.0.2.1]:1", wrong, denied, true},
		{"loopback", "127.0.0.1:1", "127.0.0.1:2", wrong, denied, true},
		{"nobody who says nothing", "192.0.2.1:1", "192.0.2.1:1", nil, denied, false},
		{"a certificate that is nobody's", "192.0.2.1:1", "192.0.2.1:1", nil, &authn.Refusal{Status: http.StatusForbidden}, true},
		{"a token that cannot be checked now", "192.0.2.1:1", "192.0.2.1:1", wrong, &authn.Refusal{Status: http.StatusServiceUnavailable}, false},
	} {
		synctest.Test(t, func(t *testing.T) { // no time passes, which would give failures back
			f := newFailures()
			for range failuresBurst {
				if d := f.wait(refusedFrom(c.first, c.header), c.no); d > 0 {
					t.Fatalf("%s: slowed too early", c.what)
				}
			}
			if d := f.wait(refusedFrom(c.second, c.header), c.no); (d > 0) != c.slowed {
				t.Errorf("%s: has to wait %s", c.what, d)
			}
		})
	}
}

func TestFailuresAreRememberedOfABoundedNumber(t *testing.T) {
	p, now := newFailures().by, time.Now()
	for i := range 3 * failuresKnown {
		p.limiter(fmt.Sprint(i), now).AllowN(now, failuresBurst)
	}
	if n := len(p.by); n > failuresKnown+1 || p.limiter("one", now) != p.limiter("another", now) {
		t.Errorf("%d are remembered, and those beyond have a limit each", n)
	}
	p.limiter("late", now.Add(2*forgetful))
	if n := len(p.by); n != 1 {
		t.Errorf("%d are remembered of those who have stopped", n)
	}
}
