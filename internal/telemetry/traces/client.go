package traces

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"tipstaff/internal/peer"
)

// client sends spans by OTLP over HTTP. The library's own client depends on
// gRPC, which adds nine megabytes and is not needed here; the protocol itself
// needs only a few lines.
type client struct {
	to   *Collector
	http *http.Client
}

func newClient(c *Collector) *client {
	d := &peer.Dialer{Dialer: net.Dialer{Timeout: c.timeout}, Users: c.loopbackUsers}
	dial := d.DialContext
	if strings.HasPrefix(c.url, "https:") { // a certificate says who it is
		dial = d.Dialer.DialContext
	}
	return &client{c, &http.Client{
		Timeout:   c.timeout,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: dial, ForceAttemptHTTP2: true, MaxIdleConns: 1, IdleConnTimeout: 90 * time.Second},
		// The headers may contain credentials, which are meant for one address.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Start does nothing.
func (c *client) Start(context.Context) error { return nil }

// Stop does nothing.
func (c *client) Stop(context.Context) error { return nil }

// attempts is how often a batch is sent that the collector cannot accept now.
// Meanwhile, new spans wait in a bounded queue, and are dropped if it is full.
const attempts = 4

// UploadTraces sends a batch. It is called by one goroutine at a time; no
// command waits for it.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// The protocol's request has the same single field as this message.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	for n := range attempts {
		var again bool
		again, err = c.post(ctx, body)
		if err == nil || !again || n == attempts-1 {
			return err
		}
		pause := time.NewTimer(time.Second << n)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return errors.Join(err, context.Cause(ctx))
		}
	}
	return err
}

// post sends once; again reports whether it is worth retrying later.
func (c *client) post(ctx context.Context, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.to.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Header = c.to.headers.Clone()
	req.Header.Set("Content-Type", "application/x-protobuf")
	res, err := c.http.Do(req)
	if err != nil {
		return true, err
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be reused
	switch res.StatusCode {
	case http.StatusOK:
		return false, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return again, fmt.Errorf("the collector answered %s", res.Status)
}
