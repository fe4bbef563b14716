package rpc

import (
	"encoding/binary"
	"sync"
	"time"

	"tipstaff/internal/fleet/idempotency"
	"tipstaff/internal/strictjson"
)

// stream is what a runner sends to one gateway about one call.
type stream struct {
	r         *Runner
	token, to string
	entry     *idempotency.Entry[[]byte]
	timer     *time.Timer

	mu        sync.Mutex
	call      *inflightCall // nil before it is joined, and for a call that has ended
	frames    [][]byte      // numbered, that the gateway does not have yet for certain
	first     uint64        // the number of the first of them
	sent      uint64        // the number of the next one that is to be sent
	upto      uint64        // the credit ends before this one
	lastSign  time.Time
	lastCheck time.Time
	abandoned bool // the caller waits no more
	complete  bool // the answer is among the frames
	finished  bool
}

// takenAfter is when a gateway gets the first sign of life of its call. Most calls
// have ended by then, and their answer says that they had arrived.
const takenAfter = 20 * time.Millisecond

// taken tells a gateway that has sent its call twice that it has arrived.
func (s *stream) taken() { s.send(frame(frameTaken, 0, nil)) }

// send sends a frame. One that is lost is sent again, or said by a later one.
func (s *stream) send(f []byte) { _ = s.r.opts.Link.Publish(s.to, "", f) }

// put adds a numbered frame, and returns its number. The caller holds the lock.
func (s *stream) put(kind byte, payload []byte) uint64 {
	n := s.first + uint64(len(s.frames))
	s.frames = append(s.frames, frame(kind, n, payload))
	return n
}

// flush sends what there is credit for. The caller holds the lock.
func (s *stream) flush() {
	for s.sent < s.upto && s.sent < s.first+uint64(len(s.frames)) {
		s.send(s.frames[s.sent-s.first])
		s.sent++
	}
}

// credit notes what the gateway has, and what it can take.
func (s *stream) credit(c credit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := s.first + uint64(len(s.frames))
	if s.finished || c.want > end {
		return
	}
	s.lastSign = time.Now()
	if c.want > s.first {
		s.frames, s.first = s.frames[c.want-s.first:], c.want
		s.sent = max(s.sent, s.first)
	}
	s.upto = max(s.upto, min(c.upto, s.first+Credits))
	if c.resend {
		s.sent = s.first
	}
	if s.complete && len(s.frames) == 0 {
		s.finish()
		return
	}
	s.flush()
}

// answer sends the end of the call.
func (s *stream) answer(answer []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished {
		return
	}
	s.call, s.complete = nil, true
	switch {
	case err != nil:
		s.put(frameError, encodeError(err))
	default:
		for len(answer) > MaxFrame {
			s.put(framePart, answer[:MaxFrame])
			answer = answer[MaxFrame:]
		}
		s.put(frameEnd, answer)
	}
	s.flush()
}

// cancel says that the caller has given up. Its answer is sent nevertheless.
func (s *stream) cancel(mayReturn bool) {
	how := idempotency.GivesUp
	if mayReturn {
		how = idempotency.MayReturn
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(how)
	if mayReturn {
		s.finish()
	}
}

// leave leaves the call once. The caller holds the lock.
func (s *stream) leave(how idempotency.Leaving) {
	if !s.abandoned {
		s.abandoned = true
		s.entry.Leave(errCallerLeft, how)
	}
}

// finish forgets the stream. The caller holds the lock.
func (s *stream) finish() {
	s.finished, s.frames = true, nil
	s.timer.Stop()
	s.leave(idempotency.Gone)
	if s.call != nil {
		s.call.part(s)
	}
	s.r.close(s)
}

// end stops the stream where it is.
func (s *stream) end() { s.timer.Stop() }

// look is done with each beat: it gives a sign of life, and ends the stream when
// the gateway has given no credit for a patience.
func (s *stream) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished {
		return
	}
	now := time.Now()
	if now.Sub(s.lastCheck) > 3*s.r.beat() {
		s.lastSign = now // this process stood still, which says nothing of the gateway
	}
	s.lastCheck = now
	if now.Sub(s.lastSign) > s.r.opts.Patience {
		s.finish()
		return
	}
	s.send(frame(frameAlive, s.sent, nil))
	s.timer.Reset(s.r.beat())
}

// hearReply takes a person's answer.
func (s *stream) hearReply(data []byte) {
	number := binary.BigEndian.Uint64(data)
	var r reply
	if strictjson.Unmarshal(data[8:], &r) != nil {
		return
	}
	s.send(frame(frameHeard, number, nil))
	s.mu.Lock()
	call := s.call
	s.lastSign = time.Now()
	s.mu.Unlock()
	if call != nil {
		call.replied(s, number, r)
	}
}
