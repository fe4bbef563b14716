package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// eras are the two forms of the protocol over HTTP.
var eras = []struct{ name, version string }{
	{"sessions", "2025-11-25"},
	{"stateless", "2026-07-28"},
}

const benchToken = "tps_benchmarks_0123456789abcdefghijklmnop"

// httpServer is one of the two servers, serving over HTTP.
type httpServer struct {
	cmd *exec.Cmd
	url string
}

func startHTTP(tb testing.TB, name string, env ...string) *httpServer {
	tb.Helper()
	s := &httpServer{cmd: command(tb, name, append(env, "TIPSTAFF_TOKEN="+benchToken)...)}
	s.cmd.Args = append(s.cmd.Args, "-http", "127.0.0.1:0")
	if name == "tipstaff" {
		s.cmd.Args = append(s.cmd.Args[:1], "serve", "--http", "127.0.0.1:0")
	}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
	})
	var said strings.Builder
	for lines := bufio.NewScanner(io.TeeReader(stderr, &said)); s.url == "" && lines.Scan(); {
		var line struct{ Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Address != "" {
			s.url = "http://" + line.Address + "/mcp"
		}
	}
	if s.url == "" {
		tb.Fatalf("%s did not say where it listens:\n%s", name, said.String())
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	return s
}

// bearer puts the token on each request.
type bearer struct{ next http.RoundTripper }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+benchToken)
	return b.next.RoundTrip(r)
}

// connect returns a client with connections of its own.
func (s *httpServer) connect(tb testing.TB, version string) *server {
	tb.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 2}
	tb.Cleanup(transport.CloseIdleConnections)
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{
		Endpoint: s.url, HTTPClient: &http.Client{Transport: bearer{transport}}, DisableStandaloneSSE: true, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = session.Close() })
	return &server{cmd: s.cmd, session: session}
}

// BenchmarkHTTPCall: execute_process true over HTTP, one at a time, without a
// sandbox. Budget: p50 at most 1.15 × the floor.
func BenchmarkHTTPCall(b *testing.B) {
	for _, era := range eras {
		b.Run(era.name, func(b *testing.B) {
			ours := startHTTP(b, "tipstaff", "TIPSTAFF_SANDBOX=off").connect(b, era.version)
			floor := startHTTP(b, "floor").connect(b, era.version)
			for range 20 {
				ours.call(b, "true")
				floor.call(b, "true")
			}
			turns(b, inRow, func() time.Duration { return ours.call(b, "true") }, func() time.Duration { return floor.call(b, "true") })
		})
	}
}

// BenchmarkHTTPThroughput16: sixteen clients at once. Budget: at least 0.9 × the
// floor's throughput.
func BenchmarkHTTPThroughput16(b *testing.B) {
	for _, era := range eras {
		b.Run(era.name, func(b *testing.B) {
			crowd := func(s *httpServer) func() {
				clients := make(chan *server, burstCallers)
				for range burstCallers {
					clients <- s.connect(b, era.version)
				}
				return func() {
					c := <-clients
					c.call(b, "true")
					clients <- c
				}
			}
			compareBursts(b, "calls/s",
				contender(crowd(startHTTP(b, "tipstaff", "TIPSTAFF_SANDBOX=off"))),
				contender(crowd(startHTTP(b, "floor"))))
		})
	}
}

// BenchmarkWaitingSessions: what 10,000 idle sessions of the stateful protocol
// add to the resident memory of a server that has as many already, so that
// memory used only while sessions are made is not counted. Budget: 20 kB each.
func BenchmarkWaitingSessions(b *testing.B) {
	const sessions = 10_000
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	for b.Loop() {
		s := startHTTP(b, "tipstaff", "TIPSTAFF_SANDBOX=off", fmt.Sprintf("TIPSTAFF_HTTP_SESSIONS=%d", 2*sessions), "TIPSTAFF_HTTP_RATE=1000000")
		client := &http.Client{Transport: bearer{http.DefaultTransport}}
		begin := func(n int) {
			for range n {
				req, err := http.NewRequest(http.MethodPost, s.url, strings.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Accept", "application/json, text/event-stream")
				res, err := client.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				text, _ := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if res.StatusCode != http.StatusOK || res.Header.Get("Mcp-Session-Id") == "" {
					b.Fatalf("%s: %s", res.Status, text)
				}
			}
		}
		resident := func() int64 {
			now, _ := (&server{cmd: s.cmd}).resident(b)
			return now
		}
		begin(sessions - 500)
		before := resident()
		begin(sessions)
		after := resident()
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(after-before)/sessions, "resident-B/session")
	}
}
