package server

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipe is a reader that takes nothing until it is opened.
type pipe struct {
	open chan struct{}
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *pipe) Write(b []byte) (int, error) {
	<-p.open
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

// TestALogThatIsNotReadLosesLinesAndSaysHowMany: nothing waits for the reader, and when
// it reads again, it learns of the loss.
func TestALogThatIsNotReadLosesLinesAndSaysHowMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipe{open: make(chan struct{})}
		log, q := newQueuedLog(p)
		const lines = 3000
		for range lines {
			log.Info("a line", "text", strings.Repeat("x", 1000)) // would block for ever
		}
		if lost := q.Lost(); lost == 0 || lost > lines {
			t.Fatalf("lost are %d", lost)
		}
		begin := time.Now()
		q.close()
		if took := time.Since(begin); took != lastLines {
			t.Errorf("the end waited %s for a reader that takes nothing", took)
		}
		log.Info("a line behind the end")
		close(p.open)
		<-q.done
		whole, lost := 0, uint64(0)
		for line := range bytes.Lines(p.text.Bytes()) {
			var m struct {
				Msg   string
				Lines uint64
			}
			if err := json.Unmarshal(line, &m); err != nil {
				t.Fatalf("no whole line: %v: %.80s", err, line)
			}
			if m.Lines > 0 {
				lost += m.Lines
			} else {
				whole++
			}
		}
		if uint64(whole)+lost != lines+1 || lost != q.Lost() {
			t.Errorf("%d lines and a loss of %d are not %d", whole, lost, lines+1)
		}
	})
}

// TestALogThatIsReadHasEveryLineInOrder is the control.
func TestALogThatIsReadHasEveryLineInOrder(t *testing.T) {
	p := &pipe{open: make(chan struct{})}
	close(p.open)
	log, q := newQueuedLog(p)
	for i := range 500 {
		log.Info("a line", "i", i)
	}
	q.close()
	for i, line := range strings.Split(strings.TrimSpace(p.text.String()), "\n") {
		var m struct{ I int }
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.I != i {
			t.Fatalf("line %d is %s", i, line)
		}
	}
	if q.Lost() != 0 {
		t.Errorf("lost are %d", q.Lost())
	}
}
