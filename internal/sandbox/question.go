//go:build linux

package sandbox

import (
	"strings"
	"sync"

	"tipstaff/internal/profile"
)

// questions are what rooms ask of profiles. Rooms of one workspace ask the same,
// often at the same time: when many sessions begin, and after a build in one of
// them. Who asks gets an answer that was found wholly after it asked, but shares
// it with all who have asked by then.
type questions struct {
	mu   sync.Mutex
	open map[string]*question
}

// question is one that somebody waits for.
type question struct {
	finding chan struct{} // holds whoever finds an answer
	next    *answer       // not yet begun; under questions.mu, as the count
	asking  int
}

type answer struct {
	ready chan struct{}
	paths profile.Paths
	err   error
}

// ask gives what find gives. It is called by one of those who share the answer,
// which must not depend on which one that is.
func (q *questions) ask(p profile.Profile, workspace, reveal []string, find func() (profile.Paths, error)) (profile.Paths, error) {
	key := p.String() + "\x00" + strings.Join(reveal, " ") + "\x00" + strings.Join(workspace, "\x00")
	q.mu.Lock()
	this := q.open[key]
	if this == nil {
		this = &question{finding: make(chan struct{}, 1)}
		if q.open == nil {
			q.open = map[string]*question{}
		}
		q.open[key] = this
	}
	this.asking++
	shared := this.next
	mine := &answer{ready: make(chan struct{})}
	if shared == nil {
		this.next = mine
	}
	q.mu.Unlock()

	if shared != nil {
		<-shared.ready
		q.leave(key, this)
		return shared.paths, shared.err
	}
	this.finding <- struct{}{}
	q.mu.Lock()
	this.next = nil // who asks from now on needs a later answer
	q.mu.Unlock()
	mine.paths, mine.err = find()
	<-this.finding
	close(mine.ready)
	q.leave(key, this)
	return mine.paths, mine.err
}

// leave forgets a question that nobody asks any more.
func (q *questions) leave(key string, this *question) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if this.asking--; this.asking == 0 {
		delete(q.open, key)
	}
}
