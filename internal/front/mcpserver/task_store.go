package mcpserver

import (
	"maps"
	"slices"
	"sync"
	"time"

	"tipstaff/internal/run/job"
)

// Bounds of tasks. Where there is no room for another one, a call waits for its end
// as without tasks.
const (
	mostTasks    = 64 // that run
	mostOwnTasks = 16 // of one owner
	// mostKept and mostKeptBytes bound those whose ends can still be read.
	mostKept      = 512
	mostKeptBytes = 16 << 20
	// taskKept is how long the end of a task can be read.
	taskKept = 5 * time.Minute
	// taskPoll is how often a client should ask.
	taskPoll = time.Second
	// taskAfter is how long a call is waited for before it becomes a task.
	taskAfter = time.Second
)

// taskStore has the tasks of a front. They end with it.
type taskStore struct {
	mu    sync.Mutex
	tasks map[string]*task
	alive sync.WaitGroup
}

// keep makes a task known by its id, if there is room for it.
func (st *taskStore) keep(t *task) bool {
	st.mu.Lock()
	if !st.room(t.owner) {
		st.mu.Unlock()
		return false
	}
	if st.tasks == nil {
		st.tasks = map[string]*task{}
	}
	st.tasks[t.id] = t
	st.mu.Unlock()

	t.mu.Lock()
	t.kept = true
	over := t.status.over()
	t.mu.Unlock()
	if over {
		st.expire(t)
	}
	return true
}

// room reports whether there is room for another task. The caller holds st.mu.
func (st *taskStore) room(o job.Owner) bool {
	var running, own, kept, bytes int
	for _, t := range st.tasks {
		over, size := t.weight()
		switch {
		case over:
			kept++
			bytes += size
		case t.owner == o:
			own++
			fallthrough
		default:
			running++
		}
	}
	return running < mostTasks && own < mostOwnTasks && kept < mostKept && bytes < mostKeptBytes
}

// expire removes a task that is over when it was kept long enough.
func (st *taskStore) expire(t *task) { time.AfterFunc(taskKept, func() { st.remove(t) }) }

func (st *taskStore) remove(t *task) {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.tasks, t.id)
}

// find returns a task of the owner.
func (st *taskStore) find(o job.Owner, id string) (*task, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	t := st.tasks[id]
	if t == nil || t.owner != o {
		return nil, noTask()
	}
	return t, nil
}

// endOf ends the tasks of one connection, and returns when their calls have ended.
func (st *taskStore) endOf(connection string, why error) {
	st.mu.Lock()
	all := slices.Collect(maps.Values(st.tasks))
	st.mu.Unlock()
	for _, t := range all {
		if t.owner.Connection == connection {
			t.stop(why)
			st.remove(t)
		}
	}
	st.alive.Wait()
}
