// Package enginetest starts NATS servers inside of a test's process, on loopback
// at ports that the system chooses. No part of the program imports it.
package enginetest

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"tipstaff/internal/fleet/natsx"
)

// Server is a NATS server with JetStream that ends with the test.
type Server struct {
	t    testing.TB
	opts *server.Options
	srv  *server.Server

	conns []*natsx.Conn
}

// Start starts a server that asks for no key. Its state lies in a directory of
// the test.
func Start(t testing.TB) *Server {
	t.Helper()
	return start(t, &server.Options{})
}

// StartSmall starts a server whose streams have so many bytes on its disk, all
// together.
func StartSmall(t testing.TB, bytes int64) *Server {
	t.Helper()
	return start(t, &server.Options{JetStreamMaxStore: bytes, JetStreamMaxMemory: 64 << 20})
}

// Reserve sets bytes of the server's disk aside, until free is called.
func (s *Server) Reserve(bytes int64) (free func()) {
	s.t.Helper()
	c := s.Connect(natsx.Gateway, "reserves")
	ask := func(verb, what string, until func(reserved int64) bool) {
		s.t.Helper()
		if err := c.Publish("$JS.API.STREAM."+verb+".RESERVED", "", []byte(what)); err != nil {
			s.t.Fatal(err)
		}
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			_, reserved, err := s.srv.JetStreamReservedResources()
			if err == nil && until(reserved) {
				return
			}
			if time.Now().After(end) {
				s.t.Fatalf("%s: %d bytes are reserved, %v", verb, reserved, err)
			}
		}
	}
	ask("CREATE", fmt.Sprintf(`{"name":"RESERVED","subjects":["reserved"],"max_bytes":%d,"storage":"file","num_replicas":1}`, bytes), func(n int64) bool { return n >= bytes })
	return func() {
		s.t.Helper()
		ask("DELETE", "", func(n int64) bool { return n < bytes })
	}
}

// StartFile starts a server by a configuration file, as "tipstaff engine config"
// prints one, on loopback at a port that the system chooses.
func StartFile(t testing.TB, file string) *Server {
	t.Helper()
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatalf("cannot read the configuration of a NATS server: %v", err)
	}
	return start(t, opts)
}

func start(t testing.TB, opts *server.Options) *Server {
	t.Helper()
	opts.Host, opts.Port = "127.0.0.1", server.RANDOM_PORT
	opts.HTTPPort, opts.HTTPSPort = 0, 0
	opts.NoLog, opts.NoSigs = true, true
	opts.JetStream, opts.StoreDir = true, t.TempDir()
	s := &Server{t: t, opts: opts}
	t.Cleanup(s.Stop)
	s.Start()
	return s
}

// Start starts the server again after Stop, at the same port and with the state
// that it had.
func (s *Server) Start() {
	s.t.Helper()
	srv, err := server.NewServer(s.opts)
	if err != nil {
		s.t.Fatalf("cannot make a NATS server: %v", err)
	}
	s.srv = srv
	go srv.Start()
	if !srv.ReadyForConnections(20 * time.Second) {
		s.t.Fatal("the NATS server is not ready after 20 seconds")
	}
	if s.opts.Port == server.RANDOM_PORT {
		addr, tcp := srv.Addr().(*net.TCPAddr)
		if !tcp {
			s.t.Fatalf("the NATS server listens on %v", srv.Addr())
		}
		s.opts.Port = addr.Port
	}
}

// Stop ends the server, as if its machine had lost power.
func (s *Server) Stop() {
	if s.srv != nil {
		s.srv.Shutdown()
		s.srv.WaitForShutdown()
		s.srv = nil
	}
}

// StopJetStream ends JetStream alone: messages pass, leases and streams are gone.
// The server is started again without it, because to end it in a running one is a
// data race of the server's. It returns when all connections of this Server are
// back. StartJetStream takes it up again.
func (s *Server) StopJetStream() {
	s.t.Helper()
	s.again(false)
}

// StartJetStream takes JetStream up again, with what it had kept on the disk.
func (s *Server) StartJetStream() {
	s.t.Helper()
	s.again(true)
}

func (s *Server) again(jetStream bool) {
	s.t.Helper()
	s.Stop()
	s.opts.JetStream = jetStream
	s.Start()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	for _, c := range s.conns {
		for {
			changed := c.Changed()
			err := c.Flush(ctx)
			if err == nil || c.Closed() {
				break
			}
			select {
			case <-changed:
			case <-ctx.Done():
				s.t.Fatalf("a connection does not come back: %v", err)
			}
		}
	}
}

// URL is the address of the server.
func (s *Server) URL() string { return s.srv.ClientURL() }

// Connect connects a member to the server and waits for the connection, which
// ends with the test.
func (s *Server) Connect(role natsx.Role, name string) *natsx.Conn {
	s.t.Helper()
	return s.ConnectWith(natsx.Options{Role: role, Name: name})
}

// ConnectWith is Connect with options; their Servers are set here.
func (s *Server) ConnectWith(o natsx.Options) *natsx.Conn {
	s.t.Helper()
	o.Servers = []string{s.URL()}
	c, err := natsx.Connect(s.t.Context(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	s.conns = append(s.conns, c)
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	if err := c.Wait(ctx); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// Routes is how many other servers a configuration file names; a file that the
// server does not understand fails the test.
func Routes(t testing.TB, file string) int {
	t.Helper()
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatalf("cannot read the configuration of a NATS server: %v", err)
	}
	return len(opts.Routes)
}

// LastURL is the address that the server had, also after Stop.
func (s *Server) LastURL() string { return fmt.Sprintf("nats://127.0.0.1:%d", s.opts.Port) }
