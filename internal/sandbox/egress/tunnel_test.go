package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// secure is an internet in which good.example and evil.example share an address and
// a TLS server, as behind a CDN.
func secure(t testing.TB, list string) (proxy string, w *internet, roots *x509.CertPool) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s by TLS name %q", r.Host, r.TLS.ServerName)
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	w = newInternet()
	w.host("example.com", public1, s.Listener.Addr().String(), 443) // httptest's certificate is for it
	w.host("evil.example", public1, s.Listener.Addr().String(), 443)
	proxy, _ = w.proxy(t, list)
	roots = x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return proxy, w, roots
}

func TestTLSToAListedHost(t *testing.T) {
	proxy, _, roots := secure(t, "example.com")
	client := through(t, proxy)
	client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
	if resp, text := get(t, client, "https://example.com/"); resp.StatusCode != 200 || text != `example.com by TLS name "example.com"` {
		t.Error(resp.Status, text)
	}
	_, err := client.Get("https://evil.example/")
	if err == nil || !strings.Contains(err.Error(), "Forbidden") {
		t.Error(err)
	}
}

// handshake tries TLS through a tunnel with another name.
func handshake(t testing.TB, conn net.Conn, name string) error {
	t.Helper()
	c := tls.Client(conn, &tls.Config{ServerName: name, InsecureSkipVerify: true})
	if err := c.Handshake(); err != nil {
		return err
	}
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
	answer, err := io.ReadAll(c)
	if err == nil && !bytes.Contains(answer, []byte("200 OK")) {
		err = fmt.Errorf("heard %q", answer)
	}
	return err
}

func TestTheTLSNameIsTheHostThatWasAskedFor(t *testing.T) {
	for _, c := range []struct {
		says, target, name string
		cut                int // bytes in one write, 0 for all
		fine               bool
	}{
		{"the host", "example.com:443", "example.com", 0, true},
		{"the host in other letters", "EXAMPLE.com.:443", "Example.COM", 0, true},
		{"the host, byte by byte", "example.com:443", "example.com", 1, true},
		{"no name", "example.com:443", "", 0, true},
		{"any name, when an address was asked for", public1 + ":443", "evil.example", 0, true},
		{"another host", "example.com:443", "evil.example", 0, false},
		{"another host, byte by byte", "example.com:443", "evil.example", 1, false},
		{"another host, in pieces", "example.com:443", "evil.example", 100, false},
		{"a host below", "example.com:443", "www.example.com", 0, false},
		{"with a port", "example.com:443", "example.com:443", 0, false},
	} {
		t.Run(c.says, func(t *testing.T) {
			proxy, w, _ := secure(t, "example.com,"+public1)
			conn := connect(t, proxy, c.target)
			err := handshake(t, &cutting{conn, c.cut}, c.name)
			_, _, refused := w.seen()
			if c.fine {
				if err != nil || len(refused) > 0 {
					t.Error(err, refused)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "unrecognized name") {
				t.Errorf("got %v", err)
			}
			if len(refused) != 1 || !strings.HasPrefix(refused[0], "example.com: host example.com was to be asked for another one by its TLS name (SNI)") {
				t.Errorf("refused %q", refused)
			}
		})
	}
}

// cutting writes in small pieces.
type cutting struct {
	*talk
	size int
}

func (c *cutting) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := len(rest)
		if c.size > 0 {
			n = min(n, c.size)
		}
		if n, err := c.talk.Write(rest[:n]); err != nil {
			return len(p) - len(rest) + n, err
		}
		rest = rest[n:]
	}
	return len(p), nil
}

// helloFor is a ClientHello as crypto/tls writes it.
func helloFor(t testing.TB, name string) []byte {
	t.Helper()
	var w saying
	c := tls.Client(&w, &tls.Config{ServerName: name, InsecureSkipVerify: true})
	if err := c.Handshake(); err == nil || len(w.said) < 100 {
		t.Fatal(err, len(w.said))
	}
	return w.said
}

// saying is a connection without a peer.
type saying struct {
	net.Conn
	said []byte
}

func (s *saying) Write(p []byte) (int, error) { s.said = append(s.said, p...); return len(p), nil }
func (s *saying) Read([]byte) (int, error)    { return 0, io.EOF }

// records cuts a ClientHello into records of n bytes.
func records(hello []byte, n int) []byte {
	var out []byte
	for rest := hello[5:]; len(rest) > 0; {
		k := min(n, len(rest))
		out = append(out, 0x16, 3, 1, byte(k>>8), byte(k))
		out = append(out, rest[:k]...)
		rest = rest[k:]
	}
	return out
}

func TestNoBytesOfARefusedHelloArrive(t *testing.T) {
	evil, good := helloFor(t, "evil.example"), helloFor(t, "good.example")
	warning := []byte{0x15, 3, 1, 0, 2, 1, 90}
	for _, c := range []struct {
		says  string
		words []byte
	}{
		{"another name", evil},
		{"another name in small records", records(evil, 16)},
		{"another name in the smallest records", records(evil, 1)},
		{"another name behind a warning, which some servers read past", append(warning[:7:7], evil...)},
		{"a ChangeCipherSpec in front", append([]byte{0x14, 3, 3, 0, 1, 1}, good...)},
		{"application data in front", append([]byte{0x17, 3, 3, 0, 1, 1}, good...)},
		{"another version in the record", append([]byte{0x16, 0x13, 3}, good[3:]...)},
		{"a ClientHello cut into far too many records", records(append([]byte{0, 0, 0, 0, 0, 1, 0, 0xff, 0xff}, make([]byte, 40000)...), 1)},
		{"no ClientHello", []byte{0x16, 3, 1, 0, 4, 2, 0, 0, 0}},
		{"a ClientHello of nothing", []byte{0x16, 3, 1, 0, 4, 1, 0, 0, 0}},
		{"a ClientHello without end", bytes.Repeat(append([]byte{0x16, 3, 1, 0x10, 0}, append([]byte{1, 0xff, 0xff, 0xff}, make([]byte, 0x1000-4)...)...), 40)},
	} {
		t.Run(c.says, func(t *testing.T) {
			arrived := make(chan string, 1)
			w := newInternet()
			w.host("good.example", public1, listen(t, func(c *talk) {
				b, _ := io.ReadAll(c)
				arrived <- string(b)
			}), 443)
			proxy, _ := w.proxy(t, "good.example")
			conn := connect(t, proxy, "good.example:443")
			conn.Conn.Write(c.words)
			if got := conn.rest(); got != string(unrecognizedName) {
				t.Errorf("heard %q", got)
			}
			if got := <-arrived; got != "" {
				t.Errorf("%d bytes arrived", len(got))
			}
			if _, _, refused := w.seen(); len(refused) != 1 {
				t.Errorf("refused %q", refused)
			}
		})
	}
}

func TestAHelloArrivesAsItWasWritten(t *testing.T) {
	good := helloFor(t, "good.example")
	for says, words := range map[string][]byte{
		"whole":                      good,
		"in small records":           records(good, 16),
		"with more behind it":        append(good[:len(good):len(good)], "early data"...),
		"behind a warning":           append([]byte{0x15, 3, 1, 0, 2, 1, 90}, good...),
		"an old client's, no record": append([]byte{0x80, 0x2e, 1, 3, 1}, make([]byte, 40)...),
		"no TLS":                     []byte("SSH-2.0-OpenSSH\r\n"),
		"nothing":                    nil,
	} {
		t.Run(says, func(t *testing.T) {
			arrived := make(chan string, 1)
			w := newInternet()
			w.host("good.example", public1, listen(t, func(c *talk) {
				b, _ := io.ReadAll(c)
				arrived <- string(b)
				c.say("heard")
			}), 443)
			proxy, _ := w.proxy(t, "good.example")
			conn := connect(t, proxy, "good.example:443").say(string(words))
			conn.Conn.(*net.TCPConn).CloseWrite()
			if got := <-arrived; got != string(words) {
				t.Errorf("got %q, want %q", got, words)
			}
			conn.hear("heard")
		})
	}
}

func TestWhatIsSaidTogetherWithCONNECTIsLookedAt(t *testing.T) {
	proxy, w, _ := secure(t, "example.com")
	conn := dialProxy(t, proxy).say("CONNECT example.com:443 HTTP/1.1\r\n" + "\r\n" + string(helloFor(t, "evil.example")))
	if resp, _ := conn.answer("CONNECT"); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	if got := conn.rest(); got != string(unrecognizedName) {
		t.Errorf("heard %q", got)
	}
	if _, _, refused := w.seen(); len(refused) != 1 {
		t.Errorf("refused %q", refused)
	}
}

func TestAServerMaySpeakFirst(t *testing.T) {
	w := newInternet()
	w.host("mail.example", public1, listen(t, func(c *talk) {
		c.say("220 mail.example\r\n").hear("EHLO me\r\n")
		c.say("250 hello\r\n").hear("QUIT\r\n")
	}), 25)
	proxy, _ := w.proxy(t, "mail.example:25")
	conn := connect(t, proxy, "mail.example:25")
	conn.hear("220 mail.example\r\n")
	conn.say("EHLO me\r\n").hear("250 hello\r\n")
	if got := conn.say("QUIT\r\n").rest(); got != "" {
		t.Errorf("heard %q", got)
	}
}

func TestEachDirectionEndsByItself(t *testing.T) {
	thanked := make(chan string, 1)
	w := newInternet()
	w.host("up.example", public1, listen(t, func(c *talk) {
		all, _ := io.ReadAll(c) // until the program has said everything
		c.say(fmt.Sprintf("%d bytes", len(all)))
	}), 80)
	w.host("down.example", public2, listen(t, func(c *talk) {
		c.say("all").Conn.(*net.TCPConn).CloseWrite()
		all, _ := io.ReadAll(c) // after the end of its own words
		thanked <- string(all)
	}), 80)
	proxy, _ := w.proxy(t, "up.example,down.example")

	conn := connect(t, proxy, "up.example:80").say(strings.Repeat("x", 1<<20))
	conn.Conn.(*net.TCPConn).CloseWrite()
	if got := conn.rest(); got != "1048576 bytes" {
		t.Errorf("heard %q", got)
	}

	conn = connect(t, proxy, "down.example:80")
	if got := conn.rest(); got != "all" {
		t.Errorf("heard %q", got)
	}
	conn.say("thanks").Conn.Close()
	if got := <-thanked; got != "thanks" {
		t.Errorf("the host heard %q", got)
	}
}

func TestMuchGoesThroughBothWays(t *testing.T) {
	w := newInternet()
	w.host("echo.example", public1, listen(t, func(c *talk) { io.Copy(c.Conn, c) }), 80)
	proxy, _ := w.proxy(t, "echo.example")
	conn := connect(t, proxy, "echo.example:80")
	words := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	go func() {
		conn.Conn.Write(words)
		conn.Conn.(*net.TCPConn).CloseWrite()
	}()
	if got := conn.rest(); got != string(words) {
		t.Errorf("%d bytes of %d", len(got), len(words))
	}
}

func TestWhoComesWhenAllPlacesAreTakenWaits(t *testing.T) {
	w := newInternet()
	w.host("echo.example", public1, listen(t, func(c *talk) { io.Copy(c.Conn, c) }), 80)
	proxy, _ := w.proxy(t, "echo.example", func(o *Options) { o.MaxConns = 2 })
	first, second := connect(t, proxy, "echo.example:80"), connect(t, proxy, "echo.example:80")
	third := dialProxy(t, proxy).say("CONNECT echo.example:80 HTTP/1.1\r\n" + "\r\n")
	for range 3 { // both still work, and the third hears nothing
		first.say("a").hear("a")
		second.say("b").hear("b")
	}
	if _, dialled, _ := w.seen(); len(dialled) != 2 {
		t.Errorf("dialled %q", dialled)
	}
	first.Conn.Close()
	if resp, _ := third.answer("CONNECT"); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
	third.say("c").hear("c")
}

func TestCloseEndsEverythingAndWaits(t *testing.T) {
	w := newInternet()
	asked := make(chan bool)
	w.host("echo.example", public1, listen(t, func(c *talk) { io.Copy(c.Conn, c) }), 443)
	w.routes[public1+":80"] = listen(t, func(c *talk) { http.ReadRequest(c.r); asked <- true; io.Copy(io.Discard, c) })
	p := New(Options{Hosts: hosts(t, "echo.example"), Resolver: w, Dial: w.dial})
	served := make(chan error, 2)
	var addrs []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addrs = append(addrs, l.Addr().String())
		go func() { served <- p.Serve(t.Context(), l) }()
	}
	tunnel := connect(t, addrs[0], "echo.example:443")
	tunnel.say("a").hear("a")
	waiting := dialProxy(t, addrs[1]).say("GET http://echo.example/ HTTP/1.1\r\nHost: echo.example\r\n" + "\r\n")
	<-asked
	half := dialProxy(t, addrs[1]).say("GET http://echo.example/ HTTP/1.1\r\n")

	start := time.Now()
	p.Close()
	p.Close()
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("took %v", took)
	}
	p.mu.Lock()
	if len(p.ends) > 0 {
		t.Error("Close did not wait for Serve")
	}
	p.mu.Unlock()
	for range 2 {
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
	for _, c := range []*talk{tunnel, waiting, half} {
		if _, err := io.ReadAll(c.r); err != nil {
			var ne net.Error
			if ok := errors.As(err, &ne); ok && ne.Timeout() {
				t.Errorf("still open: %v", err)
			}
		}
	}
	for _, addr := range addrs {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			t.Error("still listening on", addr)
		}
	}
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	_ = l.Close()
	if err := p.Serve(t.Context(), l); err == nil || !strings.Contains(err.Error(), "it is closed") {
		t.Error(err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("the listener is still open")
	}
}

func TestServeEndsWithItsContextAlone(t *testing.T) {
	w := newInternet()
	w.host("echo.example", public1, listen(t, func(c *talk) { io.Copy(c.Conn, c) }), 443)
	proxy, p := w.proxy(t, "echo.example")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- p.Serve(ctx, l) }()
	ended, stays := connect(t, l.Addr().String(), "echo.example:443"), connect(t, proxy, "echo.example:443")
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if got := ended.rest(); got != "" {
		t.Errorf("heard %q", got)
	}
	stays.say("a").hear("a")
}

func TestServeNeedsAListenerThatWorks(t *testing.T) {
	p := New(Options{})
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	_ = l.Close()
	if err := p.Serve(t.Context(), l); err == nil || !strings.Contains(err.Error(), "cannot accept connections") {
		t.Errorf("the listener is closed already: %v", err)
	}
	p.Close()
}

func TestTheZeroOptionsAllowNothing(t *testing.T) {
	p := New(Options{})
	proxy := serve(t, p)
	for _, url := range []string{"http://example.org/", "http://127.0.0.1/"} {
		resp, text := get(t, through(t, proxy), url)
		if resp.StatusCode != 403 {
			t.Error(resp.Status)
		}
		contains(t, text, "nothing is allowed")
	}
}
