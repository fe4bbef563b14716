//go:build unix

package sink

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// listening is a peer that takes connections and notes what comes.
func listening(t *testing.T) (address string, heard chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	heard = make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		data, _ := io.ReadAll(conn)
		_ = conn.Close()
		heard <- string(data)
	}()
	return l.Addr().String(), heard
}

// deaf is an address at which nobody listens, or can: a connection has its port.
func deaf(t *testing.T) string {
	t.Helper()
	at, _ := listening(t)
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.LocalAddr().String()
}

func address(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestPeersAreReachedWithoutAMessage, all at once; what cannot be reached is told.
func TestPeersAreReachedWithoutAMessage(t *testing.T) {
	plain, plainHeard := listening(t)
	web, webHeard := listening(t)
	secure := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked for something") }))
	t.Cleanup(secure.Close)
	trust := x509.NewCertPool()
	trust.AddCert(secure.Certificate())
	known := &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS12}
	nowhere, _ := listening(t)
	closed := deaf(t)
	socket := filepath.Join(t.TempDir(), "log")
	daemon, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = daemon.Close() })
	cases := []struct {
		what string
		sink Sink
		err  string // in what is told; "": reached
	}{
		{"a stream of our own", &Stream{W: io.Discard}, ""},
		{"a daemon's socket", NewSyslog("a", "unixgram", socket, nil), ""},
		{"no socket", NewSyslog("b", "unixgram", socket+"s", nil), "no such file"},
		{"no journal", NewJournal(socket + "j"), "no such file"},
		{"TCP", NewSyslog("c", "tcp", plain, nil), ""},
		{"no listener", NewSyslog("d", "tcp", closed, nil), "refused"},
		{"TLS", NewSyslog("e", "tcp", secure.Listener.Addr().String(), &tls.Config{RootCAs: trust, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}), ""},
		{"a stranger's certificate", NewSyslog("f", "tcp", secure.Listener.Addr().String(), &tls.Config{ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}), "certificate"},
		{"a webhook", NewWebhook(address(t, secure.URL+"/token"), []byte("0123456789abcdef"), known), ""},
		{"a webhook whose certificate is a stranger's", NewWebhook(address(t, secure.URL), []byte("0123456789abcdef"), nil), "certificate"},
		{"a webhook of this machine", NewWebhook(address(t, "http://"+web+"/x"), []byte("0123456789abcdef"), nil), ""},
		{"a webhook that would leave it", NewWebhook(address(t, "http://192.0.2.1/x"), []byte("0123456789abcdef"), nil), "another machine"},
		{"a collector that is down", NewOTLP(address(t, "http://"+closed+"/v1/logs"), nil, "1"), "refused"},
	}
	var all []Sink
	for _, c := range cases {
		all = append(all, c.sink)
	}
	limit, done := context.WithTimeout(t.Context(), 20*time.Second)
	defer done()
	for i, r := range Reach(limit, all) {
		c := cases[i]
		switch {
		case r.Name != c.sink.Name():
			t.Errorf("%s: %+v", c.what, r)
		case c.err == "" && r.Err != nil:
			t.Errorf("%s: %v", c.what, r.Err)
		case c.err != "" && (r.Err == nil || !strings.Contains(r.Err.Error(), c.err)):
			t.Errorf("%s: %v, want %q", c.what, r.Err, c.err)
		}
	}
	short, done := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer done()
	silent := NewSyslog("g", "tcp", nowhere, &tls.Config{ServerName: "x", MinVersion: tls.VersionTLS12})
	if err := Reach(short, []Sink{silent})[0].Err; !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a peer that never shakes hands: %v", err)
	}
	for what, heard := range map[string]chan string{"syslog": plainHeard, "the webhook": webHeard} {
		if got := <-heard; got != "" {
			t.Errorf("%s was sent %q", what, got)
		}
	}
}
