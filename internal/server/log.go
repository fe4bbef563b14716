package server

import (
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// NewLog logs structured lines to standard error: standard output belongs to
// the protocol.
func NewLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: slog.LevelInfo,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.String("time", a.Value.Time().UTC().Format(time.RFC3339Nano))
			}
			return withoutSecrets(a)
		},
	}))
}

// newQueuedLog logs as newLog, without waiting for the reader of w: a client that does
// not read standard error would hold up every answer, and the end of the server. close
// writes what waits, as long as the reader takes it.
func newQueuedLog(w io.Writer) (log *slog.Logger, q *logQueue) {
	q = newLogQueue(w)
	return NewLog(q), q
}

const (
	// mostQueued bounds the bytes of lines that wait for the reader.
	mostQueued = 1 << 20
	// logWrite is how much is written at once.
	logWrite = 32 << 10
	// lastLines is how long the end of the server waits for a reader that takes nothing.
	lastLines = 300 * time.Millisecond
)

// logQueue holds lines until they are written. Write may be called from several
// goroutines, and does not wait.
type logQueue struct {
	w    io.Writer
	done chan struct{} // closed when the last line is written

	mu     sync.Mutex
	some   sync.Cond
	lines  [][]byte
	bytes  int
	lost   uint64 // lines since the last that were told
	all    uint64 // lines that were lost since the start
	taken  uint64 // writes that the reader has taken
	closed bool
}

func newLogQueue(w io.Writer) *logQueue {
	q := &logQueue{w: w, done: make(chan struct{})}
	q.some.L = &q.mu
	go q.run()
	return q
}

// Write keeps a line, or counts it where there is no room.
func (q *logQueue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.bytes+len(line) > mostQueued || q.lost > 0 && q.bytes > mostQueued/2 {
		q.lost++
		q.all++
		return len(line), nil
	}
	q.lines = append(q.lines, slices.Clone(line))
	q.bytes += len(line)
	q.some.Signal()
	return len(line), nil
}

// Lost returns how many lines were lost since the start.
func (q *logQueue) Lost() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.all
}

// run writes lines until the queue is closed and empty.
func (q *logQueue) run() {
	defer close(q.done)
	own := NewLog(q.w)
	for {
		text, lost, more := q.next()
		if len(text) > 0 {
			_, _ = q.w.Write(text) // a reader that is gone reads no line about it
		}
		if lost > 0 {
			own.Warn("lines of this log were lost, because standard error was not read", "lines", lost)
		}
		if !more {
			return
		}
		q.mu.Lock()
		q.taken++
		q.mu.Unlock()
	}
}

// next waits for lines, and returns some, and how many were lost behind them.
func (q *logQueue) next() (text []byte, lost uint64, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.lines) == 0 && q.lost == 0 && !q.closed {
		q.some.Wait()
	}
	n := 0
	for n < len(q.lines) && (n == 0 || len(text)+len(q.lines[n]) <= logWrite) {
		text = append(text, q.lines[n]...)
		n++
	}
	q.lines = slices.Delete(q.lines, 0, n)
	q.bytes -= len(text)
	if len(q.lines) == 0 {
		lost, q.lost = q.lost, 0
	}
	return text, lost, len(q.lines) > 0 || !q.closed
}

// close writes what waits, and gives it up where the reader takes nothing for
// lastLines. Later lines are lost.
func (q *logQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.some.Signal()
	taken := q.taken
	q.mu.Unlock()
	patience := time.NewTicker(lastLines)
	defer patience.Stop()
	for {
		select {
		case <-q.done:
			return
		case <-patience.C:
		}
		q.mu.Lock()
		stuck := q.taken == taken
		taken = q.taken
		q.mu.Unlock()
		if stuck {
			return
		}
	}
}
