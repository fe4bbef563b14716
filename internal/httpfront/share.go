package httpfront

import "sync"

// share bounds how many requests of one principal are under way. Whoever is being
// served keeps the place (see connectionLimiter), so that without it one known caller with
// streams that it does not read would keep all others out.
type share struct {
	most int

	mu sync.Mutex
	of map[string]int // who has none is not in it
}

// newShare leaves a quarter of the places to others.
func newShare(connections int) *share {
	return &share{most: (3*connections + 3) / 4, of: map[string]int{}}
}

// take counts one more; false if there are as many as there may be. Who gets true
// gives it back.
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
