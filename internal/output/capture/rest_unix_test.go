//go:build unix

package capture

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestWhatWasWrittenInTimeIsKept has a deadline that passes before Drain has had a
// chance to run, as on a machine that is busy.
func TestWhatWasWrittenInTimeIsKept(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }() // the other end stays open
	text := strings.Repeat("x", 50_000)
	if _, err := w.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	b := NewBuffer(1 << 20)
	Drain(b, r)
	if b.Total() != 0 {
		t.Fatal("a deadline that has passed ends nothing")
	}
	Rest(b, r)
	if b.Total() != int64(len(text)) {
		t.Errorf("%d bytes of %d were kept", b.Total(), len(text))
	}
	Rest(b, r) // and it does not block
}

// TestRestEndsThoughSomebodyWritesOn has a leftover that never stops.
func TestRestEndsThoughSomebodyWritesOn(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for buf := make([]byte, 4096); ; {
			if _, err := w.Write(buf); err != nil {
				return
			}
		}
	}()
	b := NewBuffer(1 << 10)
	Rest(b, r)
	if b.Total() > mostRest+chunk {
		t.Errorf("it read %d bytes", b.Total())
	}
	_, _ = r.Close(), w.Close()
	<-ended
}
