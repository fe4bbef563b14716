package mcpfront

import (
	"bytes"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// stream is the answer to one HTTP request. While there is nothing to send it
// sends signs of life; it gives up on a client that does not read, and drops
// answers that were cancelled.
type stream struct {
	http.ResponseWriter

	control *http.ResponseController
	opts    *HTTPOptions
	atEnd   func()

	mu    sync.Mutex
	ended bool
	muted bool
	beat  *time.Timer // nil until alive is called
}

func newStream(w http.ResponseWriter, o *HTTPOptions) *stream {
	// Keeps proxies from collecting events in a buffer.
	w.Header().Set("X-Accel-Buffering", "no")
	return &stream{ResponseWriter: w, control: http.NewResponseController(w), opts: o}
}

var errEnded = errors.New("the request is over")

// Write sends a whole event. The library writes one at a time.
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

// slowest is the lowest rate at which a client has to read, in bytes per
// second.
const slowest = 64 << 10

// patient sets the time in which a client has to read n bytes.
func (s *stream) patient(n int) {
	d := s.opts.WriteTimeout + time.Duration(n)*time.Second/slowest
	_ = s.control.SetWriteDeadline(time.Now().Add(d)) // only a connection of a test has no deadlines
}

// readUntil bounds how long the body of the request may take to arrive.
func (s *stream) readUntil(t time.Time) { _ = s.control.SetReadDeadline(t) }

// alive begins to send signs of life. It must not be called before the library
// has chosen the kind of its answer.
func (s *stream) alive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live()
}

// live starts the time to the next sign of life anew. The caller holds the
// lock.
func (s *stream) live() {
	switch {
	case s.ended || s.opts.KeepAlive <= 0:
	case s.beat != nil:
		s.beat.Reset(s.opts.KeepAlive)
	default:
		s.beat = time.AfterFunc(s.opts.KeepAlive, s.comment)
	}
}

// comment sends a comment, which every client ignores (WHATWG, server-sent
// events).
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

// mute drops everything from now on, except messages that withdraw a question
// of the server: otherwise a person would go on looking at a form.
func (s *stream) mute() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.muted = true
}

// end is called when the request is over. A session may keep its first stream,
// so the stream must hold nothing afterwards.
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

// withdraws reports whether an event withdraws a question of the server.
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

// mended adds a code to an error that has none, in an event or alone.
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
