package httpserver

import "sync"

// share bounds how many requests of one principal are in flight. A connection
// that is being served is never replaced (see connectionLimiter), so without
// this bound one authenticated caller with streams that it does not read could
// keep all others out.
type share struct {
	most int

	mu sync.Mutex
	of map[string]int // principals without requests have no entry
}

// newShare leaves a quarter of the connections to other principals.
func newShare(connections int) *share {
	return &share{most: (3*connections + 3) / 4, of: map[string]int{}}
}

// take counts one more request; false if the principal has its full number.
// After true the caller gives it back.
func (s *share) take(principal string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[principal] >= s.most {
		return false
	}
	s.of[principal]++
	return true
}

func (s *share) giveBack(principal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[principal]--; s.of[principal] == 0 {
		delete(s.of, principal)
	}
}
