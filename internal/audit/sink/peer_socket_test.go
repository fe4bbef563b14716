//go:build unix

package sink_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tipstaff/internal/audit/sink"
	"tipstaff/internal/audit/sink/sinktest"
)

// rfc5424 is the grammar of a message as far as tipstaff uses it.
var rfc5424 = regexp.MustCompile(`(?s)^<(\d{1,3})>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) ([!-~]{1,255}) tipstaff ([!-~]{1,128}) ([!-~]{1,32}) ` +
	`\[tipstaff@32473((?: [a-z]+="(?:[^"\\\]]|\\["\\\]])*")*)\] ` + "\ufeff(.*)$")

func syslogBody(t *testing.T, message []byte) string {
	m := rfc5424.FindSubmatch(message)
	if m == nil || len(message) > 8<<10 {
		t.Errorf("%d bytes that are no message of syslog: %.300q", len(message), message)
		return "{}"
	}
	return string(m[7])
}

// journalBody takes an entry of the native protocol apart.
func journalBody(t *testing.T, entry []byte) string {
	fields := map[string]string{}
	for len(entry) > 0 {
		name, rest, ok := bytes.Cut(entry, []byte("\n"))
		if !ok || len(rest) < 8 {
			t.Fatalf("no entry: %q", entry)
		}
		n := binary.LittleEndian.Uint64(rest)
		fields[string(name)], entry = string(rest[8:8+n]), rest[9+n:]
	}
	if fields["SYSLOG_IDENTIFIER"] != "tipstaff" || fields["PRIORITY"] == "" || fields["TIPSTAFF_EVENT"] == "" {
		t.Errorf("the entry has %v", fields)
	}
	return fields["MESSAGE"]
}

// datagramPeer listens on a datagram socket.
type datagramPeer struct {
	record
	t      *testing.T
	path   string
	body   func(*testing.T, []byte) string
	mu     sync.Mutex
	conn   net.PacketConn
	reader sync.WaitGroup
}

func (p *datagramPeer) listen(network, address string) {
	conn, err := (&net.ListenConfig{}).ListenPacket(p.t.Context(), network, address)
	if err != nil {
		p.t.Error(err)
		return
	}
	if udp, ok := conn.(*net.UDPConn); ok {
		_ = udp.SetReadBuffer(4 << 20)
	}
	p.mu.Lock()
	p.conn = conn
	p.mu.Unlock()
	p.reader.Go(func() {
		buf := make([]byte, 1<<20)
		for {
			if p.now(p.t.Context()) == sinktest.Slow {
				time.Sleep(time.Millisecond)
			}
			n, _, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			p.add(p.body(p.t, buf[:n]))
		}
	})
}

func (p *datagramPeer) Behave(m sinktest.Mode) {
	p.record.Behave(m)
	p.mu.Lock()
	conn := p.conn
	p.mu.Unlock()
	switch {
	case m == sinktest.Down:
		_ = conn.Close()
		p.reader.Wait()
		_ = os.Remove(p.path)
		p.mu.Lock()
		p.conn = nil
		p.mu.Unlock()
	case conn == nil:
		p.listen("unixgram", p.path)
	}
}

func (p *datagramPeer) end() {
	p.record.Behave(sinktest.Well)
	if p.conn != nil {
		_ = p.conn.Close()
	}
	p.reader.Wait()
}

func unixPeer(t *testing.T, body func(*testing.T, []byte) string) *datagramPeer {
	t.Helper()
	dir, err := os.MkdirTemp("", "sink") //nolint:usetesting // the name of a socket is short, that of a test is not
	if err != nil {
		t.Fatal(err)
	}
	p := &datagramPeer{t: t, path: filepath.Join(dir, "log"), body: body}
	p.listen("unixgram", p.path)
	t.Cleanup(func() { p.end(); _ = os.RemoveAll(dir) })
	return p
}

func TestTheSyslogSinkOverADatagramSocket(t *testing.T) {
	sinktest.Suite{
		Modes: []sinktest.Mode{sinktest.Hang, sinktest.Slow, sinktest.Down}, Deaf: true, // what is in a socket that is closed is lost
		Start: func(t *testing.T) (sink.Sink, sinktest.Peer) {
			p := unixPeer(t, syslogBody)
			return sink.NewSyslog("syslog", "unixgram", p.path, nil), p
		},
	}.Run(t)
}

func TestTheJournalSink(t *testing.T) {
	sinktest.Suite{
		Modes: []sinktest.Mode{sinktest.Hang, sinktest.Slow, sinktest.Down}, Deaf: true,
		Start: func(t *testing.T) (sink.Sink, sinktest.Peer) {
			p := unixPeer(t, journalBody)
			return sink.NewJournal(p.path), p
		},
	}.Run(t)
}

func TestTheSyslogSinkOverUDP(t *testing.T) {
	sinktest.Suite{
		Many: 100, Deaf: true,
		Start: func(t *testing.T) (sink.Sink, sinktest.Peer) {
			p := &datagramPeer{t: t, body: syslogBody}
			p.listen("udp", "127.0.0.1:0")
			t.Cleanup(p.end)
			return sink.NewSyslog("syslog", "udp", p.conn.LocalAddr().String(), nil), p
		},
	}.Run(t)
}

// streamPeer is a syslog daemon that counts octets.
type streamPeer struct {
	record
	t        *testing.T
	listener net.Listener
	ctx      context.Context
	running  sync.WaitGroup
}

func streamOf(t *testing.T) (sink.Sink, sinktest.Peer) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return sink.NewSyslog("syslog", "tcp", l.Addr().String(), nil), newStreamPeer(t, l)
}

// securedOf is streamOf over TLS.
func securedOf(t *testing.T) (sink.Sink, sinktest.Peer) {
	certified := httptest.NewTLSServer(nil) // for its certificate
	certified.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", certified.TLS)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(certified.Certificate())
	secure := &tls.Config{RootCAs: trusted, ServerName: "example.com", MinVersion: tls.VersionTLS12}
	return sink.NewSyslog("syslog", "tcp", l.Addr().String(), secure), newStreamPeer(t, l)
}

func newStreamPeer(t *testing.T, l net.Listener) *streamPeer {
	ctx, cancel := context.WithCancel(t.Context())
	p := &streamPeer{t: t, listener: l, ctx: ctx}
	p.running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() { cancel(); _ = l.Close(); p.running.Wait() })
	return p
}

func (p *streamPeer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(p.ctx, func() { _ = conn.Close() })
	defer stop()
	cut := func() {
		below := conn
		if secured, ok := conn.(*tls.Conn); ok {
			below = secured.NetConn()
		}
		if tcp, ok := below.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = below.Close()
	}
	go func() { // a peer that dies does so at once
		for p.ctx.Err() == nil {
			p.record.mu.Lock()
			m, changed := p.mode, p.changed
			p.record.mu.Unlock()
			if m == sinktest.Reset {
				cut()
				return
			}
			if changed == nil {
				p.Behave(m)
				continue
			}
			select {
			case <-changed:
			case <-p.ctx.Done():
			}
		}
	}()
	in := bufio.NewReader(conn)
	for {
		if p.now(p.ctx) == sinktest.Slow {
			time.Sleep(time.Millisecond)
		}
		count, err := in.ReadString(' ')
		if err != nil {
			return
		}
		n, err := strconv.Atoi(strings.TrimSuffix(count, " "))
		if err != nil || n > 8<<10 {
			p.t.Errorf("a frame begins with %q", count)
			return
		}
		message := make([]byte, n)
		if _, err := io.ReadFull(in, message); err != nil {
			return
		}
		p.add(syslogBody(p.t, message))
	}
}

func TestTheSyslogSinkOverTCP(t *testing.T) {
	sinktest.Suite{Start: streamOf, Modes: []sinktest.Mode{sinktest.Hang, sinktest.Slow, sinktest.Reset}, Deaf: true}.Run(t)
}

func TestTheSyslogSinkOverTLS(t *testing.T) {
	sinktest.Suite{Start: securedOf, Modes: []sinktest.Mode{sinktest.Hang, sinktest.Slow, sinktest.Reset}, Deaf: true}.Run(t)
}

// TestTheSyslogSinkTellsNothingToAStranger: a peer with an unsigned certificate.
func TestTheSyslogSinkTellsNothingToAStranger(t *testing.T) {
	s, peer := securedOf(t)
	stranger, ok := peer.(*streamPeer)
	if !ok {
		t.Fatal("no stream")
	}
	unknowing := sink.NewSyslog("syslog", "tcp", stranger.listener.Addr().String(), &tls.Config{ServerName: "example.com", MinVersion: tls.VersionTLS12})
	defer func() { _, _ = unknowing.Close(), s.Close() }()
	n, err := unknowing.Send(t.Context(), []sink.Message{{Body: []byte(`{"v":1}`)}})
	if n != 0 || err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%d, %v", n, err)
	}
}

// pipePeer reads a stream as the parent of the server reads its standard error.
type pipePeer struct{ record }

func TestTheStreamSink(t *testing.T) {
	sinktest.Suite{
		Modes: []sinktest.Mode{sinktest.Hang, sinktest.Slow},
		Start: func(t *testing.T) (sink.Sink, sinktest.Peer) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			p := &pipePeer{}
			var reading sync.WaitGroup
			reading.Go(func() {
				in := bufio.NewReader(r)
				for {
					if p.now(t.Context()) == sinktest.Slow {
						time.Sleep(time.Millisecond)
					}
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					_, body, found := strings.Cut(line, ">")
					if !found || line[0] != '<' {
						t.Errorf("a line without a priority: %q", line)
					}
					p.add(strings.TrimSuffix(body, "\n"))
				}
			})
			t.Cleanup(func() { _ = w.Close(); p.Behave(sinktest.Well); reading.Wait(); _ = r.Close() })
			return &sink.Stream{W: w, Priorities: true}, p
		},
	}.Run(t)
}
