package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// news is a stream of events to one page (server-sent events).
type news struct {
	mu   sync.Mutex
	w    http.ResponseWriter
	ctrl *http.ResponseController
	end  context.CancelFunc
}

const (
	// heartbeat keeps a quiet stream open, and finds out that a browser has gone.
	heartbeat = 15 * time.Second
	// slowest is how long a browser may take to read one event.
	slowest = 10 * time.Second
)

// stream returns a handler that sends events until run returns, the browser goes,
// or the console ends. It refuses more than [mostStreams] at once, and more than
// [mostStreamsOf] of one browser: the place of one is free when its page is left.
func (s *Server) stream(run func(ctx context.Context, r *http.Request, n *news) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		endStream, ok := s.entrance.beginStream(r)
		if !ok {
			http.Error(w, "Too many pages of this browser look at once: close some, and this one goes on by itself.", http.StatusServiceUnavailable)
			return
		}
		defer endStream()
		select {
		case s.streams <- struct{}{}:
			defer func() { <-s.streams }()
		default:
			http.Error(w, "Too many pages look at once: close some, and load this one again.", http.StatusServiceUnavailable)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		stop := context.AfterFunc(s.ending, cancel)
		defer stop()
		n := &news{w: w, ctrl: http.NewResponseController(w), end: cancel}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_ = n.ctrl.SetReadDeadline(time.Time{})
		if n.write([]byte("retry: 1000\n\n")) != nil {
			return
		}
		var beating sync.WaitGroup
		defer beating.Wait()
		beating.Go(func() { n.beat(ctx) })
		err := run(ctx, r, n)
		if err != nil && ctx.Err() == nil {
			_ = n.send("problem", err.Error())
		}
		cancel()
	})
}

// send sends one event with data as JSON. After an error the stream is over.
func (n *news) send(event string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("cannot send %s: %w", event, err)
	}
	return n.write([]byte("event: " + event + "\ndata: " + string(text) + "\n\n"))
}

func (n *news) write(p []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = n.ctrl.SetWriteDeadline(time.Now().Add(slowest)) // a test's recorder has none
	if _, err := n.w.Write(p); err != nil {
		n.end()
		return err
	}
	if err := n.ctrl.Flush(); err != nil {
		n.end()
		return err
	}
	return nil
}

func (n *news) beat(ctx context.Context) {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = n.write([]byte(":\n\n"))
		}
	}
}
