package mcpserver

import "sync"

// quota counts the resources that each principal uses. The zero quota allows
// none.
type quota struct {
	most int

	mu  sync.Mutex
	has map[string]int
}

// take counts one more for a principal and returns the function that gives it
// back.
func (q *quota) take(principal string) (release func(), ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.has[principal] >= q.most {
		return func() {}, false
	}
	if q.has == nil {
		q.has = map[string]int{}
	}
	q.has[principal]++
	return func() { q.release(principal) }, true
}

func (q *quota) release(principal string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.has[principal]--; q.has[principal] <= 0 {
		delete(q.has, principal)
	}
}

func (q *quota) full(principal string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.has[principal] >= q.most
}
