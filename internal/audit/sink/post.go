package sink

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"tipstaff/internal/peer"
)

// poster sends bodies to one address over HTTP.
type poster struct {
	client  *http.Client
	dialer  *peer.Dialer
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	tls     *tls.Config // nil: the default
	address *url.URL
	headers map[string]string
}

// newPoster returns a poster. With onlyLoopback it connects to this machine
// only, whatever address the host's name resolves to.
func newPoster(address *url.URL, headers map[string]string, secure *tls.Config, onlyLoopback bool) *poster {
	dialer := newDialer()
	dial := dialer.DialContext
	if address.Scheme == "https" { // a certificate says who it is
		dial = dialer.Dialer.DialContext
	}
	if onlyLoopback {
		dialer.Control = refuseOthers
	}
	return &poster{
		address: address, headers: headers, dialer: dialer, dial: dial, tls: secure,
		client: &http.Client{
			Transport: &http.Transport{
				DialContext: dial, TLSClientConfig: secure, ForceAttemptHTTP2: true,
				TLSHandshakeTimeout: 5 * time.Second, ResponseHeaderTimeout: attempt,
				MaxIdleConns: 1, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
			},
			// Records go to the operator's address, not to one that the peer
			// names.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// refuseOthers is called with the resolved address before each connection.
func refuseOthers(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().Unmap().IsLoopback() {
		return fmt.Errorf("%s is another machine, and http:// is for this one; use https://", address)
	}
	return nil
}

// longestAnswer bounds how much of an answer is read.
const longestAnswer = 64 << 10

// post sends a body and returns the answer if its status is 2xx.
func (p *poster) post(ctx context.Context, body []byte, headers map[string]string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.address.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", appName)
	for _, set := range []map[string]string{p.headers, headers} {
		for name, value := range set {
			req.Header.Set(name, value)
		}
	}
	resp, err := p.client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the address, which may contain a token
		}
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, longestAnswer))
	if resp.StatusCode/100 == 2 {
		return answer, err
	}
	return nil, failure(resp)
}

// failure returns the error for an answer without status 2xx.
func failure(resp *http.Response) error {
	err := fmt.Errorf("the peer answered %d", resp.StatusCode)
	switch code := resp.StatusCode; {
	case code/100 == 3:
		return fmt.Errorf("%w, a redirect, and those are not followed; set the address that it leads to", err)
	case code == http.StatusBadRequest, code == http.StatusRequestEntityTooLarge, code == http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	if seconds, bad := strconv.Atoi(resp.Header.Get("Retry-After")); bad == nil && seconds > 0 {
		return pauseError{err, time.Duration(min(seconds, 3600)) * time.Second}
	}
	return err
}

func (p *poster) close() { p.client.CloseIdleConnections() }
