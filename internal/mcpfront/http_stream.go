package mcpfront

import (
	"bytes"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// stream is the answer to one HTTP request. It says that it lives while there is
// nothing else to say, gives up on a client that does not read, and leaves out
// what nobody wants any more.
type stream struct {
	http.ResponseWriter

	control *http.ResponseController
	opts    *HTTPOptions
	atEnd   func()

	mu    sync.Mutex
	ended bool
	muted bool
	beat  *time.Timer // nil until the stream is alive
}

func newStream(w http.ResponseWriter, o *HTTPOptions) *stream {
	// A proxy that buffers would keep events until there are many.
	w.Header().Set("X-Accel-Buffering", "no")
	return &stream{ResponseWriter: w, control: http.NewResponseController(w), opts: o}
}

var errEnded = errors.New("the request is over")

// Write sends an event whole. The library writes one at a time.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return 0, errEnded
	case s.muted && !withdraws(p):
		return len(p), nil
	}
	s.patient(len(p))
	if _, err := s.ResponseWriter.Write(mended(p)); err != nil {
		return 0, err
	}
	s.live()
	return len(p), nil
}

// FlushError sends what has been written.
func (s *stream) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errEnded
	}
	return s.control.Flush()
}

// slowest is the least that a client has to read, in bytes a second.
const slowest = 64 << 10

// patient gives a client time to read n bytes.
func (s *stream) patient(n int) {
	d := s.opts.WriteTimeout + time.Duration(n)*time.Second/slowest
	_ = s.control.SetWriteDeadline(time.Now().Add(d)) // a connection without deadlines is one of a test
}

// readUntil bounds how long the body of the request may take to arrive.
func (s *stream) readUntil(t time.Time) { _ = s.control.SetReadDeadline(t) }

// alive begins to say that the stream lives. It must not be called before the
// library has said what kind of answer it gives.
func (s *stream) alive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live()
}

// live needs the lock.
func (s *stream) live() {
	switch {
	case s.ended || s.opts.KeepAlive <= 0:
	case s.beat != nil:
		s.beat.Reset(s.opts.KeepAlive)
	default:
		s.beat = time.AfterFunc(s.opts.KeepAlive, s.comment)
	}
}

// comment sends what every client ignores (WHATWG, server-sent events).
func (s *stream) comment() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.ResponseWriter.Header().Get("Content-Type") != "text/event-stream" {
		return
	}
	s.patient(0)
	if _, err := s.ResponseWriter.Write([]byte(": alive\n\n")); err == nil && s.control.Flush() == nil {
		s.beat.Reset(s.opts.KeepAlive)
	}
}

// mute leaves out everything from now on, but that the server needs no answer
// any more to what it has asked: a person would go on looking at a form.
func (s *stream) mute() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.muted = true
}

// end is said when the request is over. A session may hold on to the first
// stream that it had, so nothing may hang on it.
func (s *stream) end() {
	s.mu.Lock()
	s.ended = true
	if s.beat != nil {
		s.beat.Stop()
	}
	s.patient(0)
	s.ResponseWriter, s.control = nil, nil
	atEnd := s.atEnd
	s.atEnd = nil
	s.mu.Unlock()
	if atEnd != nil {
		atEnd()
	}
}

// withdraws reports whether an event takes back a question of the server's.
func withdraws(p []byte) bool {
	_, data, ok := bytes.Cut(p, []byte("data: "))
	if !ok || !bytes.Contains(data, []byte("notifications/cancelled")) {
		return false
	}
	msg, err := jsonrpc.DecodeMessage(bytes.TrimRight(data, "\n"))
	note, is := msg.(*jsonrpc.Request)
	return err == nil && is && !note.ID.IsValid() && note.Method == "notifications/cancelled"
}

// longestMended is longer than any error of the library.
const longestMended = 8 << 10

// mended gives an error that has no code one, in an event or alone.
func mended(p []byte) []byte {
	if len(p) > longestMended || !bytes.Contains(p, []byte(`"error":{`)) {
		return p
	}
	start := 0
	if p[0] != '{' {
		if start = bytes.Index(p, []byte("data: {")); start < 0 {
			return p
		}
		start += len("data: ")
	}
	data := bytes.TrimRight(p[start:], "\n")
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return p
	}
	resp, ok := msg.(*jsonrpc.Response)
	if !ok || resp.Error == nil {
		return p
	}
	coded, err := jsonrpc.EncodeMessage(withCode(resp))
	if err != nil {
		return p
	}
	whole := append(bytes.Clone(p[:start]), coded...)
	return append(whole, p[start+len(data):]...)
}
