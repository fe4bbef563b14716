package authn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"tipstaff/internal/strictjson"
)

// Bounds of a request to an issuer.
const (
	fetchTime   = 5 * time.Second
	maxDocument = 1 << 20
)

// fetcher reads documents of an issuer.
type fetcher struct{ client *http.Client }

func newFetcher(roots *x509.CertPool) fetcher {
	return fetcher{&http.Client{
		Timeout: fetchTime, // for the whole exchange, including the body
		Transport: &http.Transport{
			TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    fetchTime,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           2,
			IdleConnTimeout:        time.Minute,
			MaxResponseHeaderBytes: 64 << 10,
		},
		// Redirects are not followed: keys come only from where the operator
		// said.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// errNotThere says that the server has no such document.
var errNotThere = errors.New("there is no such document")

// get fetches a JSON document.
func (f fetcher) get(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := f.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode/100 == 4:
		return fmt.Errorf("%s: answered %d: %w", url, resp.StatusCode, errNotThere)
	case resp.StatusCode/100 == 3:
		return fmt.Errorf("%s: answered with a redirect, and none is followed", url)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: answered %d", url, resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", url, err)
	case len(data) > maxDocument:
		return fmt.Errorf("%s: has more than %d bytes", url, maxDocument)
	}
	if err := strictjson.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}
