package decider

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/policy"
)

// header begins a valid answer.
const header = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

// raw writes its answer by hand, in any form, until it returns.
func raw(then func(conn net.Conn, gone <-chan struct{})) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		hijacker, ok := w.(http.Hijacker)
		if !ok {
			panic("no connection to be had")
		}
		conn, _, err := hijacker.Hijack()
		if err != nil {
			panic(err)
		}
		defer func() { _ = conn.Close() }()
		gone := make(chan struct{})
		go func() { // the other end sends nothing more before it closes
			_, _ = io.Copy(io.Discard, conn)
			close(gone)
		}()
		then(conn, gone)
	}
}

// trickle writes a byte now and then, until the connection is closed.
func trickle(conn net.Conn, gone <-chan struct{}, begin, more string) {
	_, _ = io.WriteString(conn, begin)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-gone:
			return
		case <-tick.C:
			if _, err := io.WriteString(conn, more); err != nil {
				return
			}
		}
	}
}

// misbehaviours are ways to give no usable answer; the slow ones last as long
// as the timeout.
var misbehaviours = map[string]struct {
	answer   http.HandlerFunc
	slow     bool
	operator string // what the operator is told about it
}{
	"it never answers": {raw(func(_ net.Conn, gone <-chan struct{}) { <-gone }), true, "in time"},
	"it hangs after the headers": {raw(func(c net.Conn, gone <-chan struct{}) {
		_, _ = io.WriteString(c, header+"Content-Length: 16\r\n\r\n{\"result\"")
		<-gone
	}), true, "in time"},
	"its headers trickle": {raw(func(c net.Conn, gone <-chan struct{}) { trickle(c, gone, "HTTP/1.1 200 OK\r\nX: ", "x") }), true, "in time"},
	"its body trickles":   {raw(func(c net.Conn, gone <-chan struct{}) { trickle(c, gone, header+"Content-Length: 60000\r\n\r\n", " ") }), true, "in time"},
	"it answers and does not end": {raw(func(c net.Conn, gone <-chan struct{}) {
		_, _ = io.WriteString(c, header+"\r\n{\"result\": true}")
		<-gone
	}), true, "in time"},
	"its body is huge": {func(w http.ResponseWriter, r *http.Request) {
		says(`{"result": true, "x": "`+strings.Repeat("x", longestAnswer)+`"}`)(w, r)
	}, false, "more than 65536 bytes"},
	"its body never ends": {func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat(" ", 4096)); err != nil {
				return
			}
		}
	}, false, "more than 65536 bytes"},
	"its headers are huge": {raw(func(c net.Conn, gone <-chan struct{}) {
		_, _ = io.WriteString(c, header+strings.Repeat("X: "+strings.Repeat("x", 1000)+"\r\n", 100)+"Content-Length: 16\r\n\r\n{\"result\": true}")
		<-gone
	}), false, "header"},
	"it ends in the middle": {raw(func(c net.Conn, _ <-chan struct{}) {
		_, _ = io.WriteString(c, header+"Content-Length: 17\r\n\r\n{\"result\": true}")
	}), false, "EOF"},
	"it closes":          {raw(func(net.Conn, <-chan struct{}) {}), false, "EOF"},
	"it speaks nonsense": {raw(func(c net.Conn, _ <-chan struct{}) { _, _ = io.WriteString(c, "SSH-2.0-OpenSSH\r\n\r\n") }), false, "malformed"},
	"it fails": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"result": true}`)
	}, false, "500"},
	"it has no such document": {func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }, false, "404"},
	"it has nothing to say":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, false, "204"},
	"it answers a page": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `{"result": true}`)
	}, false, "text/html"},
	"it says not what it answers": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		_, _ = io.WriteString(w, `{"result": true}`)
	}, false, "not application/json"},
	"it compresses unasked": {func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		says("\x1f\x8b\x08")(w, r)
	}, false, "not understood"},
}

// TestADeciderThatMisbehavesDenies: quickly, with one message for the operator,
// and nothing about the host for the caller.
func TestADeciderThatMisbehavesDenies(t *testing.T) {
	for name, c := range misbehaviours {
		for _, transport := range transports {
			t.Run(name+", "+transport, func(t *testing.T) {
				t.Parallel()
				s := newStub(t, transport, c.answer)
				timeout := patience
				if c.slow {
					timeout = haste
				}
				client, log := s.client(timeout)
				began := time.Now()
				for range 2 {
					f := client.Judge(t.Context(), push())
					if f.Effect != policy.Deny || f.Code != tipstaff.PolicyUnavailable || f.Rule != "decider" || f.Hint == "" {
						t.Fatalf("it gives %+v", f)
					}
					if f.Err == nil || !strings.Contains(f.Err.Error(), c.operator) || strings.Contains(f.Err.Error(), DefaultDocument) {
						t.Errorf("the operator is told %v", f.Err)
					}
					if strings.Contains(f.Msg+f.Hint, "opa.sock") || strings.Contains(f.Msg+f.Hint, "127.0.0.1") {
						t.Errorf("the caller is told of the host: %s %s", f.Msg, f.Hint)
					}
				}
				// A slow one takes until the timeout and no longer, apart from
				// a busy machine.
				if took := time.Since(began); took > 2*timeout+4*time.Second || c.slow && took < 2*haste {
					t.Errorf("two calls took %v", took)
				}
				if strings.Count(log.all(), "\n") != 0 || !strings.HasPrefix(log.all(), "ERROR the decider gives no usable answer") {
					t.Errorf("the log says\n%s", log.all())
				}
				s.now(says(`{"result": true}`))
				if c.slow {
					client.timeout = patience
				}
				if f := client.Judge(t.Context(), push()); f.Effect != policy.Allow {
					t.Errorf("when it has come to its senses: %+v", f)
				}
				if !strings.HasSuffix(log.all(), "\nINFO the decider answers again") {
					t.Errorf("the log says\n%s", log.all())
				}
			})
		}
	}
}

// TestRedirectsAreNotFollowed, wherever they lead to.
func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := newStub(t, "tcp", says(`{"result": true}`))
	for _, code := range []int{301, 302, 303, 307, 308} {
		s := newStub(t, "tcp", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.url, code) })
		c, _ := s.client(patience)
		if f := c.Judge(t.Context(), push()); f.Effect != policy.Deny || f.Err == nil || !strings.Contains(f.Err.Error(), "redirect") {
			t.Errorf("%d: %+v", code, f)
		}
	}
	if len(elsewhere.asked()) != 0 {
		t.Error("it was followed")
	}
}

func TestADeciderThatIsNotThereDenies(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := listener.Addr().String()
	_ = listener.Close()
	for _, url := range []string{"http://" + nobody, "unix:" + filepath.Join(shortDir(t), "none.sock")} {
		c := newClient(t, Options{URL: url, Timeout: patience})
		if f := c.Judge(t.Context(), push()); f.Effect != policy.Deny || f.Code != tipstaff.PolicyUnavailable {
			t.Errorf("%s: %+v", url, f)
		}
	}
}

// TestOneThatIsRestartedIsAskedAgainAtOnce: the kept connection is closed, and
// this is noticed before a command is refused for it.
func TestOneThatIsRestartedIsAskedAgainAtOnce(t *testing.T) {
	socket := filepath.Join(shortDir(t), "opa.sock")
	first := newStubAt(t, "unix", socket, says(`{"result": true}`))
	c, log := first.client(patience)
	for range 3 {
		if f := c.Judge(t.Context(), push()); f.Effect != policy.Allow {
			t.Fatalf("%+v", f)
		}
	}
	for range 20 {
		first.server.CloseClientConnections()
		first.server.Close()
		first = newStubAt(t, "unix", socket, says(`{"result": true}`))
		if f := c.Judge(t.Context(), push()); f.Effect != policy.Allow {
			t.Fatalf("after a restart: %+v", f)
		}
	}
	if log.all() != "" {
		t.Errorf("the operator is told %s", log.all())
	}
}

// TestConnectionsAreKept: one serves call after call.
func TestConnectionsAreKept(t *testing.T) {
	for _, transport := range transports {
		s := newStub(t, transport, says(`{"result": true}`))
		c, _ := s.client(patience)
		for range 50 {
			if f := c.Judge(t.Context(), push()); f.Effect != policy.Allow {
				t.Fatalf("%+v", f)
			}
		}
		if n := s.made.Load(); n != 1 {
			t.Errorf("%s: %d connections for 50 calls", transport, n)
		}
	}
}

// TestManyCallsWaitForADeadOneNoLongerThanOneDoes, including those that find
// all connections in use.
func TestManyCallsWaitForADeadOneNoLongerThanOneDoes(t *testing.T) {
	s := newStub(t, "unix", raw(func(_ net.Conn, gone <-chan struct{}) { <-gone }))
	c, log := s.client(haste)
	began := time.Now()
	var calls sync.WaitGroup
	for range 3 * connections {
		calls.Go(func() {
			if f := c.Judge(t.Context(), push()); f.Effect != policy.Deny || f.Code != tipstaff.PolicyUnavailable {
				t.Errorf("%+v", f)
			}
		})
	}
	calls.Wait()
	if took := time.Since(began); took > haste+4*time.Second {
		t.Errorf("together they took %v", took)
	}
	if strings.Count(log.all(), "ERROR") != 1 {
		t.Errorf("the log says\n%s", log.all())
	}
}

// TestManyCallsAtOnceGetTheirOwnAnswers.
func TestManyCallsAtOnceGetTheirOwnAnswers(t *testing.T) {
	s := newStub(t, "tcp", nil)
	s.now(func(w http.ResponseWriter, r *http.Request) { says(`{"result": `+r.Header.Get("X")+`}`)(w, r) })
	s.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		says(fmt.Sprintf(`{"result": %t}`, strings.Contains(string(body), `"argv":["good"]`)))(w, r)
	})
	c, _ := s.client(patience)
	var calls sync.WaitGroup
	for i := range 200 {
		calls.Go(func() {
			q, want := push(), policy.Allow
			if q.Argv = []string{"good"}; i%2 == 0 {
				q.Argv, want = []string{"bad"}, policy.Deny
			}
			if f := c.Judge(t.Context(), q); f.Effect != want {
				t.Errorf("%q: %+v", q.Argv, f)
			}
		})
	}
	calls.Wait()
}

// TestHTTPReachesThisMachineOnly, whichever address a name resolves to.
func TestHTTPReachesThisMachineOnly(t *testing.T) {
	for at, refused := range map[string]bool{
		"127.0.0.1:80": false, "[::1]:80": false, "127.8.9.1:80": false, "[::ffff:127.0.0.1]:80": false,
		"192.0.2.1:80": true, "0.0.0.0:80": true, "[2001:db8::1]:80": true, "[::ffff:192.0.2.1]:80": true, "nonsense": true,
	} {
		if err := refuseOthers("tcp", at, nil); (err != nil) != refused {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// TestHTTPSIsForWhomTheCertificateNames.
func TestHTTPSIsForWhomTheCertificateNames(t *testing.T) {
	server := httptest.NewUnstartedServer(says(`{"result": true}`))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	c := newClient(t, Options{URL: server.URL, Timeout: patience})
	if f := c.Judge(t.Context(), push()); f.Effect != policy.Deny || f.Err == nil || !strings.Contains(f.Err.Error(), "certificate") {
		t.Errorf("of an unknown authority: %+v", f)
	}
	known := newClient(t, Options{URL: server.URL, Timeout: patience})
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	transport, ok := known.http.Transport.(*http.Transport)
	if !ok {
		t.Fatal("no transport")
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	if f := known.Judge(t.Context(), push()); f.Effect != policy.Allow {
		t.Errorf("of a known one: %+v", f)
	}
}

// TestNoProxyIsUsed: the environment of the server may name one.
func TestNoProxyIsUsed(t *testing.T) {
	asked := make(chan string, 1)
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	go func() {
		conn, err := proxy.Accept()
		if err != nil {
			return
		}
		line, _ := bufio.NewReader(conn).ReadString('\n')
		asked <- line
		_ = conn.Close()
	}()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, "http://"+proxy.Addr().String())
	}
	// A name for which proxies are not bypassed, and which does not resolve.
	c := newClient(t, Options{URL: "https://opa.invalid/v1/data/x", Timeout: patience})
	if f := c.Judge(t.Context(), push()); f.Effect != policy.Deny || f.Code != tipstaff.PolicyUnavailable {
		t.Errorf("%+v", f)
	}
	select {
	case line := <-asked:
		t.Errorf("the proxy was asked for %q", line)
	default:
	}
}
