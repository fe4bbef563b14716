package api

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"tipstaff/internal/strictjson"
)

// Server answers clients on this machine. The caller closes it.
type Server struct {
	answers

	listener  *net.UnixListener
	path      string
	places    chan struct{} // bounds the concurrent connections
	following chan struct{} // bounds those that follow a command, which have no place above
	serving   sync.WaitGroup
	ctx       context.Context //nolint:containedctx // the server's own life, ended by Close
	end       context.CancelCauseFunc
}

// mostAtOnce bounds the concurrent connections; others wait in the kernel's
// queue. mostFollowing bounds those that follow a command; others are refused.
const (
	mostAtOnce    = 8
	mostFollowing = 32
)

// Directory returns the directory for the sockets of servers with a state
// directory.
func Directory(state string) string { return filepath.Join(state, directory) }

// Listen opens the socket of this server below its state directory, removes
// those of dead servers, and starts answering.
func Listen(state string, q Questions, h Service, log *slog.Logger) (*Server, error) {
	dir := Directory(state)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot open the control socket: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a directory, which may have existed with another mode
		return nil, fmt.Errorf("cannot open the control socket: %w", err)
	}
	sweep(dir)
	name := strconv.Itoa(os.Getpid()) + "-" + rand.Text()[:8] + suffix
	listener, err := listen(dir, fresh+name)
	if err != nil {
		return nil, fmt.Errorf("cannot open the control socket: %w", err)
	}
	s := &Server{
		answers: answers{q, h, log}, listener: listener, path: filepath.Join(dir, name),
		places: make(chan struct{}, mostAtOnce), following: make(chan struct{}, mostFollowing),
	}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	// The socket gets its final name when it listens: if a client finds it and
	// is refused, the server is dead.
	if err := os.Rename(filepath.Join(dir, fresh+name), s.path); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the control socket: %w", err), listener.Close(), os.Remove(filepath.Join(dir, fresh+name)))
	}
	s.serving.Go(s.serve)
	return s, nil
}

// listen makes a socket that only its owner can connect to.
func listen(dir, name string) (*net.UnixListener, error) {
	address, release, err := addressOf(dir, name)
	if err != nil {
		return nil, err
	}
	defer release()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // it will be renamed
	if err := os.Chmod(filepath.Join(dir, name), 0o600); err != nil {
		return nil, errors.Join(err, listener.Close(), os.Remove(filepath.Join(dir, name)))
	}
	return listener, nil
}

// Close removes the socket, and returns when all connections have ended.
func (s *Server) Close() error {
	err := errors.Join(s.listener.Close(), os.Remove(s.path))
	s.end(errEnding)
	s.serving.Wait()
	return err
}

var errEnding = errors.New("the server is ending")

func (s *Server) serve() {
	for {
		conn, err := s.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // usually for lack of descriptors
			time.Sleep(100 * time.Millisecond)
			continue
		}
		s.places <- struct{}{}
		s.serving.Go(func() {
			leave := sync.OnceFunc(func() { <-s.places })
			defer leave()
			s.converse(conn, leave)
		})
	}
}

// converse reads one request and replies. leave gives back the place of the
// connection.
func (s *Server) converse(conn *net.UnixConn, leave func()) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	who, err := Peer(conn)
	if err != nil {
		s.log.Warn("refused a client of the control socket", "error", err)
		_ = s.say(conn, reply{Error: "this is for the user that the server runs as, and for root; not for commands"})
		return
	}
	line, err := bufio.NewReader(io.LimitReader(conn, maxRequest)).ReadBytes('\n')
	var r request
	if err != nil || strictjson.Unmarshal(line, &r) != nil {
		_ = s.say(conn, reply{Error: noRequest})
		return
	}
	if r.Op == opFollow {
		s.follow(conn, r, leave)
		return
	}
	out := s.do(r, who)
	_ = conn.SetDeadline(time.Now().Add(patience)) // an act may take a while
	_ = s.say(conn, out)
}

const noRequest = "this is no request"

// say sends one reply. A client that has disconnected misses it.
func (*Server) say(conn *net.UnixConn, r reply) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = conn.Write(append(data, '\n'))
	return err
}

// slowest is how long a follower may take for one event before it is left behind for
// good.
const slowest = 30 * time.Second

// follow sends what a command prints, until its end or that of the client. It has a
// place of its own, so that clients who only look hold up no answer.
func (s *Server) follow(conn *net.UnixConn, r request, leave func()) {
	var of Followed
	known := false
	if s.service != nil {
		of, known = s.service.Find(r.ID)
	}
	if !known {
		_ = s.say(conn, reply{Unknown: true, Error: ErrUnknown.Error()})
		return
	}
	select {
	case s.following <- struct{}{}:
	default:
		_ = s.say(conn, reply{Error: fmt.Sprintf("%d clients follow commands of this server, and no more can", mostFollowing)})
		return
	}
	defer func() { <-s.following }()
	leave()
	ctx, stop := context.WithCancelCause(s.ctx)
	defer stop(nil)
	_ = conn.SetReadDeadline(time.Time{})
	s.serving.Go(func() { // ends with conn
		_, err := conn.Read(make([]byte, 1)) // a client says nothing more; this is its end
		stop(err)
	})
	detach := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer detach()
	f := follower{of: of, say: func(r reply) error {
		_ = conn.SetWriteDeadline(time.Now().Add(slowest))
		return s.say(conn, r)
	}}
	if err := f.run(ctx); err != nil && ctx.Err() == nil {
		s.log.Info("a client follows a command no more", "command_id", r.ID, "error", err)
	}
}
