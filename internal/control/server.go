package control

import (
	"bufio"
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

	"tipstaff/internal/approval"
	"tipstaff/internal/argv"
	"tipstaff/internal/policy"
)

// Questions are the open questions. An [approval.Store] implements it.
type Questions interface {
	List() []approval.Open
	Answer(handle string, a policy.Answer) (policy.Question, error)
}

// Server answers clients on this machine. The caller closes it.
type Server struct {
	listener  *net.UnixListener
	path      string
	questions Questions
	log       *slog.Logger
	places    chan struct{} // bounds the concurrent connections
	serving   sync.WaitGroup
}

// mostAtOnce bounds the concurrent connections; others wait in the kernel's
// queue.
const mostAtOnce = 8

// Directory returns the directory for the sockets of servers with a state
// directory.
func Directory(state string) string { return filepath.Join(state, directory) }

// Listen opens the socket of this server below its state directory, removes
// those of dead servers, and starts answering.
func Listen(state string, q Questions, log *slog.Logger) (*Server, error) {
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
	s := &Server{listener: listener, path: filepath.Join(dir, name), questions: q, log: log, places: make(chan struct{}, mostAtOnce)}
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
	s.serving.Wait()
	return err
}

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
			defer func() { <-s.places }()
			s.converse(conn)
		})
	}
}

// converse reads one request and replies.
func (s *Server) converse(conn *net.UnixConn) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	who, err := peerOf(conn)
	if err != nil {
		s.log.Warn("refused a client of the control socket", "error", err)
		s.say(conn, reply{Error: "this is for the user that the server runs as, and for root; not for commands"})
		return
	}
	line, err := bufio.NewReader(io.LimitReader(conn, maxRequest)).ReadBytes('\n')
	var r request
	if err != nil || json.Unmarshal(line, &r) != nil {
		s.say(conn, reply{Error: "this is no request"})
		return
	}
	s.say(conn, s.do(r, who))
}

func (*Server) say(conn *net.UnixConn, r reply) {
	data, err := json.Marshal(r)
	if err == nil {
		_, _ = conn.Write(append(data, '\n')) // a client that has disconnected misses the reply
	}
}

func (s *Server) do(r request, who string) reply {
	a := policy.Answer{By: who, How: policy.ByHost}
	switch r.Op {
	case "list":
		var out reply
		for _, o := range s.questions.List() {
			out.Questions = append(out.Questions, questionOf(o.Question, o.Outcome, o.Until, os.Getpid()))
		}
		return out
	case "approve":
		a.Choice = policy.Once
		if r.Session {
			a.Choice = policy.Session
		}
	case "deny":
		a.Comment = argv.Escape(r.Comment)
	default:
		return reply{Error: "this is no request"}
	}
	q, err := s.questions.Answer(r.Handle, a)
	switch {
	case errors.Is(err, approval.ErrNotOpen):
		return reply{Error: err.Error(), NotOpen: true}
	case err != nil:
		return reply{Error: err.Error()}
	}
	s.log.Info("a person has answered", "op", r.Op, "approval", r.Handle, "by", who)
	state := policy.Granted
	if a.Choice == policy.Refuse {
		state = policy.Denied
	}
	return reply{Questions: []Question{questionOf(q, state, q.Expires, os.Getpid())}}
}
