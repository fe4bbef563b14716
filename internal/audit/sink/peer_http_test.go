package sink_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"

	"tipstaff/internal/audit/sink"
	"tipstaff/internal/audit/sink/sinktest"
)

// record is what all peers share: how they behave, and what came.
type record struct {
	mu      sync.Mutex
	mode    sinktest.Mode
	changed chan struct{} // closed when the mode is
	bodies  []string
}

func (r *record) Behave(m sinktest.Mode) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mode = m
	if r.changed != nil {
		close(r.changed)
	}
	r.changed = make(chan struct{})
}

func (r *record) Bodies() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.bodies...)
}

func (r *record) add(bodies ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies = append(r.bodies, bodies...)
}

// now waits while the peer hangs, until ctx is done, and gives the mode then.
func (r *record) now(ctx context.Context) sinktest.Mode {
	for {
		r.mu.Lock()
		m := r.mode
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		if m != sinktest.Hang {
			return m
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return m
		}
	}
}

// httpPeer is a receiver of batches; decode takes them apart.
type httpPeer struct {
	record
	t      *testing.T
	decode func(r *http.Request, body []byte) []string
}

func (p *httpPeer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	switch p.now(r.Context()) {
	case sinktest.Hang: // and the client is gone
	case sinktest.Garbage:
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write(bytes.Repeat([]byte("<html>"), 100_000))
	case sinktest.Reset:
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			p.t.Error(err)
			return
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	case sinktest.Slow:
		time.Sleep(20 * time.Millisecond)
		p.add(p.decode(r, body)...)
	default:
		p.add(p.decode(r, body)...)
	}
}

// serve starts the peer on loopback.
func (p *httpPeer) serve(t *testing.T, path string) *url.URL {
	t.Helper()
	p.t = t
	server := httptest.NewServer(p)
	t.Cleanup(func() {
		p.Behave(sinktest.Well)
		server.CloseClientConnections()
		server.Close()
	})
	u, err := url.Parse(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

const secret = "a secret of the test"

func webhookPeer(t *testing.T) (sink.Sink, sinktest.Peer) {
	p := &httpPeer{decode: func(r *http.Request, body []byte) []string {
		if r.Method != http.MethodPost || r.URL.Path != "/hook" || r.Header.Get("Content-Type") != "application/x-ndjson" || r.Header.Get("Tipstaff-Trail") != "the-trail" {
			t.Errorf("it came as %s %s with %v", r.Method, r.URL, r.Header)
		}
		stamp, signature, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Tipstaff-Signature"), "t="), ",v1=")
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(stamp + "." + string(body)))
		if hex.EncodeToString(mac.Sum(nil)) != signature {
			t.Errorf("the signature %q is wrong", r.Header.Get("Tipstaff-Signature"))
		}
		var lines []string
		scanner := bufio.NewScanner(bytes.NewReader(body))
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			lines = append(lines, scanner.Text())
		}
		return lines
	}}
	u := p.serve(t, "/hook")
	return sink.NewWebhook(u, []byte(secret), nil), p
}

func TestTheWebhookSink(t *testing.T) {
	sinktest.Suite{Start: webhookPeer, Modes: []sinktest.Mode{sinktest.Hang, sinktest.Slow, sinktest.Garbage, sinktest.Reset}, Many: 500}.Run(t)
}

func otlpPeer(t *testing.T) (sink.Sink, sinktest.Peer) {
	p := &httpPeer{decode: func(r *http.Request, body []byte) []string {
		var data logs.LogsData
		if err := proto.Unmarshal(body, &data); err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("it came as %v: %v", r.Header, err)
		}
		var lines []string
		for _, res := range data.GetResourceLogs() {
			for _, scope := range res.GetScopeLogs() {
				for _, l := range scope.GetLogRecords() {
					lines = append(lines, l.GetBody().GetStringValue())
				}
			}
		}
		return lines
	}}
	return sink.NewOTLP(p.serve(t, "/v1/logs"), nil, "1"), p
}

func TestTheOTLPSink(t *testing.T) {
	sinktest.Suite{Start: otlpPeer, Modes: []sinktest.Mode{sinktest.Hang, sinktest.Slow, sinktest.Garbage, sinktest.Reset}, Many: 200}.Run(t)
}
