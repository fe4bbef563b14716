package mcpserver

import (
	"bytes"
	"encoding/json"
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

	opts  *HTTPOptions
	atEnd func()

	modern bool            // the request is one of the stateless protocol
	asked  json.RawMessage // its id; nil: it has none

	mu      sync.Mutex // held while something is sent
	ended   bool
	muted   bool
	resumes []byte      // what a GET that comes back to a stream is sent first; nil: nothing, or it has been
	refused int         // a status that the library has sent for a text that is still to come; 0: none
	beat    *time.Timer // nil until alive is called

	limits    sync.Mutex // guards what follows, also while something is sent
	control   *http.ResponseController
	displaced bool // another request has this one's stream
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
	case s.refused != 0:
		return s.refuse(p)
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
	return s.flush()
}

// slowest is the lowest rate at which a client has to read, in bytes per
// second.
const slowest = 64 << 10

// patient sets the time in which a client has to read n bytes.
func (s *stream) patient(n int) {
	d := s.opts.WriteTimeout + time.Duration(n)*time.Second/slowest
	s.limits.Lock()
	defer s.limits.Unlock()
	if !s.displaced {
		_ = s.control.SetWriteDeadline(time.Now().Add(d)) // only a connection of a test has no deadlines
	}
}

// displace ends what is being sent: another request has this one's stream.
func (s *stream) displace() {
	s.limits.Lock()
	defer s.limits.Unlock()
	s.displaced = true
	if s.control != nil {
		_ = s.control.SetWriteDeadline(time.Now()) // as in patient
	}
}

// readUntil bounds how long the body of the request may take to arrive.
func (s *stream) readUntil(t time.Time) {
	s.limits.Lock()
	defer s.limits.Unlock()
	_ = s.control.SetReadDeadline(t)
}

// flush is called with the lock. What is being flushed can be displaced.
func (s *stream) flush() error {
	s.limits.Lock()
	control := s.control
	s.limits.Unlock()
	return control.Flush()
}

// Header returns the header. For a client that comes back, the library sets it and then
// sends nothing before the next event, which can be hours; clients and proxies wait
// minutes for it. So as soon as it says that the answer is a stream, it is sent, and
// signs of life follow.
func (s *stream) Header() http.Header {
	h := s.ResponseWriter.Header()
	if s.resumes != nil && h.Get("Content-Type") == "text/event-stream" {
		first := s.resumes
		s.resumes = nil
		_, _ = s.Write(first) // a peer that has gone is noticed by what follows
		_ = s.FlushError()
	}
	return h
}

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
	if _, err := s.ResponseWriter.Write([]byte(": alive\n\n")); err == nil && s.flush() == nil {
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
	s.limits.Lock()
	_ = s.control.SetWriteDeadline(time.Now().Add(s.opts.WriteTimeout)) // as in patient
	s.ResponseWriter, s.control = nil, nil
	s.limits.Unlock()
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
	better := withCode(resp)
	if better == resp {
		return p // byte for byte: the library would round an id that is refused for that
	}
	coded, err := jsonrpc.EncodeMessage(better)
	if err != nil {
		return p
	}
	whole := append(bytes.Clone(p[:start]), coded...)
	return append(whole, p[start+len(data):]...)
}
