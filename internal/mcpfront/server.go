package mcpfront

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/bus"
	"tipstaff/internal/runner"
	"tipstaff/internal/session"
)

// Road carries out commands and judges sessions. It is internal/monitor.
type Road interface {
	Execute(ctx context.Context, req tipstaff.Request, live runner.Live) (tipstaff.Result, error)
	// AdmitSession checks what a session asks for and completes it.
	AdmitSession(s tipstaff.Session) (tipstaff.Session, error)
	// NoteRefusal records a call that came to nothing before it was judged.
	NoteRefusal(req tipstaff.Request, err error)
}

// Options are what the front offers and to whom it hands on.
type Options struct {
	Version  string
	Road     Road
	Sessions *session.Store // nil: the terminal_* tools are not offered
	// Instructions are told to every client; see [Instructions].
	Instructions string
	// TerminalMaxTimeout is the ceiling of one terminal command (contract B4).
	TerminalMaxTimeout time.Duration
	Log                *slog.Logger
	// Events is where the records are published that clients may listen to
	// (contract B14); nil offers none.
	Events *bus.Bus
}

// Server offers the tools over one connection. Make one for each connection.
type Server struct {
	opts     Options
	mcp      *mcp.Server
	arrivals *arrivals
	listener *listener
}

// NewServer returns a server with its tools.
func NewServer(o Options) *Server {
	s := &Server{opts: o, arrivals: newArrivals(), listener: newListener(o.Events)}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "tipstaff", Title: "tipstaff", Version: o.Version}, &mcp.ServerOptions{
		Instructions: o.Instructions,
		Logger:       slog.New(slog.DiscardHandler), // the library logs every connection as an error
		Capabilities: capabilities(o),
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.CacheScope = "private" // what is allowed is nobody else's business
		},
	})
	for _, t := range tools {
		if t.session && o.Sessions == nil {
			continue
		}
		s.mcp.AddTool(t.declaration(), s.handler(t))
	}
	// The first one is the outermost.
	s.mcp.AddReceivingMiddleware(s.recoverPanics, clampVersion, s.settleArrivals, codeErrors, s.tellEvents)
	return s
}

// ServeStdio talks to one client until the client closes its end or ctx is
// done. Commands of the connection that still run then are cancelled; it
// returns when their calls have ended. The end of the client is no error.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	defer s.listener.end()
	err := s.mcp.Run(ctx, &stdio{in: in, out: out, arrivals: s.arrivals})
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return fmt.Errorf("cannot serve standard input and output: %w", err)
}
