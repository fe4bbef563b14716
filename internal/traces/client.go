package traces

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// client sends spans by OTLP over HTTP. It is ours because the library's own comes
// with all of gRPC, nine megabytes that nobody uses, and is three lines of protocol
// beside what any client of HTTP does.
type client struct {
	to   *Collector
	http *http.Client
}

func newClient(c *Collector) *client {
	return &client{c, &http.Client{
		Timeout:   c.timeout,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConns: 1, IdleConnTimeout: 90 * time.Second},
		// The headers may be credentials, which are for one address.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Start does nothing.
func (c *client) Start(context.Context) error { return nil }

// Stop does nothing.
func (c *client) Stop(context.Context) error { return nil }

// attempts is how often a batch is sent that the collector cannot take now. Spans
// that come meanwhile wait in a bounded queue, and are dropped when it is full.
const attempts = 4

// UploadTraces sends a batch. It is called by one goroutine at a time, which no
// command waits for.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// The request of the protocol has the same one field as this message.
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

// post sends once; again says that it may help to do so later.
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
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
	switch res.StatusCode {
	case http.StatusOK:
		return false, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return again, fmt.Errorf("the collector answered %s", res.Status)
}
