package httpserver

import (
	"fmt"
	"net/http"
	"testing"

	"tipstaff/internal/front/authn"
)

// byHeader believes the caller's own header, as no real server would.
type byHeader struct{}

func (byHeader) Authenticate(r *http.Request) (authn.Principal, error) {
	return authn.Principal{Name: r.Header.Get("Authorization"), Scopes: authn.All()}, nil
}

func TestNobodyTakesEveryPlace(t *testing.T) {
	o := options()
	o.Callers, o.Connections = byHeader{}, 4
	in, out := make(chan struct{}), make(chan struct{})
	o.MCP = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			in <- struct{}{}
			<-out
		}
		fmt.Fprint(w, "done")
	})
	url := serveTCP(t, o) + "/mcp"
	answers := make(chan string, o.Connections)
	for range 3 {
		go func() {
			_, body := ask(t, "POST", url, "Authorization", "greedy")
			answers <- body
		}()
		<-in
	}
	if resp, body := ask(t, "GET", url, "Authorization", "greedy"); resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
		t.Errorf("a fourth: %d %s", resp.StatusCode, body)
	}
	if resp, body := ask(t, "GET", url, "Authorization", "other"); resp.StatusCode != http.StatusOK {
		t.Errorf("somebody else: %d %s", resp.StatusCode, body)
	}
	close(out)
	for range 3 {
		if body := <-answers; body != "done" {
			t.Errorf("told %q", body)
		}
	}
	if resp, body := ask(t, "GET", url, "Authorization", "greedy"); resp.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %d %s", resp.StatusCode, body)
	}
}
