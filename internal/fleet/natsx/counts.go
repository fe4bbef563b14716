package natsx

import (
	"sync"
	"time"

	"github.com/nats-io/nkeys"
)

// What makes a signed statement count: its signature, its time, and that it has not
// counted before.

// isSigned reports whether the key with this public half signed a text that begins
// with kind.
func isSigned(public, kind string, body, signature []byte) bool {
	key, err := nkeys.FromPublicKey(public)
	return err == nil && key.Verify(append([]byte(kind), body...), signature) == nil
}

// inTime compares the times of a statement of one member with the clock here.
func inTime(now time.Time, of string, issued, notAfter time.Time) error {
	const clocks = "; compare the clocks of both machines"
	switch {
	case notAfter.Sub(issued) > Validity || notAfter.Before(issued):
		return refuse(TooOld, "a statement that would count for %v, and %v is the limit", notAfter.Sub(issued), Validity)
	case issued.After(now.Add(ClockSkew)):
		return refuse(FromFuture, "a statement of %s that is issued %v from now"+clocks, of, issued.Sub(now).Round(time.Second))
	case now.After(notAfter.Add(ClockSkew)):
		return refuse(TooOld, "a statement of %s that ended %v ago"+clocks, of, now.Sub(notAfter).Round(time.Second))
	}
	return nil
}

// memory knows which statements have counted. What it has forgotten is too old by its
// own time of issue, whatever the clock says now: a clock that is set back makes
// nothing count again.
type memory struct {
	now   func() time.Time
	limit int // Remembered

	mu       sync.Mutex
	recent   map[string]struct{} // nonces since turned
	older    map[string]struct{} // and of the time before
	turned   time.Time
	newest   time.Time // the latest time of issue among recent
	olderNew time.Time // and among older
	forgot   time.Time // and among all that was forgotten
}

func newMemory(now func() time.Time) *memory {
	return &memory{now: now, limit: Remembered, turned: now(), recent: map[string]struct{}{}, older: map[string]struct{}{}}
}

// once remembers a statement by its nonce, and refuses one that it remembers.
func (m *memory) once(nonce, of string, issued time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.now(); now.Sub(m.turned) >= remember || now.Before(m.turned) {
		m.forgot = later(m.forgot, m.olderNew)
		m.older, m.olderNew = m.recent, m.newest
		m.recent, m.newest = map[string]struct{}{}, time.Time{}
		m.turned = now
	}
	if !issued.After(m.forgot) {
		return refuse(TooOld, "a statement of %s from before what is remembered; compare the clocks of both machines", of)
	}
	_, a := m.recent[nonce]
	_, b := m.older[nonce]
	switch {
	case a || b:
		return refuse(Replayed, "a statement of %s that has counted before", of)
	case len(m.recent) >= m.limit:
		return refuse(TooMany, "more than %d statements came within %v", m.limit, remember)
	}
	m.recent[nonce] = struct{}{}
	m.newest = later(m.newest, issued)
	return nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
