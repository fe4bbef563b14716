package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/internal/run/job"
	"tipstaff/internal/strictjson"
)

// task is a call that goes on after it was answered. Its methods may be called
// from several goroutines at once.
type task struct {
	id    string
	owner job.Owner
	began time.Time
	// call carries out the call, or goes on with it when its questions are answered.
	call   func(ctx context.Context, answers mcp.InputResponseMap, state string) (mcp.Result, error)
	ctx    context.Context //nolint:containedctx // the life of the call, which outlasts its request
	cancel context.CancelCauseFunc
	untie  func() bool // from the life of the front
	store  *taskStore

	mu        sync.Mutex
	status    taskStatus
	updated   time.Time
	result    *mcp.CallToolResult
	err       error
	asks      mcp.InputRequestMap
	state     string
	answers   mcp.InputResponseMap
	cancelled bool
	kept      bool // it is in the store
}

// errTaskCancelled is why the command of a task is ended that its client gives up.
var errTaskCancelled = errors.New("its task was cancelled")

// round carries out the call until it ends or asks something.
func (t *task) round(answers mcp.InputResponseMap, state string) {
	res, err := t.call(t.ctx, answers, state)
	t.note(res, err)
}

// note notes how a round has ended.
func (t *task) note(res mcp.Result, err error) {
	t.mu.Lock()
	r, _ := res.(*mcp.CallToolResult)
	t.updated = time.Now()
	switch {
	case t.cancelled:
		t.status = taskCancelled
	case err != nil:
		t.status, t.err = taskFailed, err
	case r != nil && (len(r.InputRequests) > 0 || r.RequestState != ""):
		t.status, t.asks, t.state, t.answers = taskAsks, maps.Clone(r.InputRequests), r.RequestState, mcp.InputResponseMap{}
	case r != nil:
		t.status, t.result = taskCompleted, r
	default:
		t.status, t.err = taskFailed, errors.New("the call gave no answer")
	}
	over, kept := t.status.over(), t.kept
	t.mu.Unlock()
	if over {
		t.cancel(nil)
		t.untie()
	}
	if over && kept {
		t.store.expire(t)
	}
}

// stop gives the task up. One that is over stays as it is.
func (t *task) stop(why error) {
	t.mu.Lock()
	asks := t.status == taskAsks
	if t.status.over() {
		t.mu.Unlock()
		return
	}
	t.cancelled = true
	if asks { // nothing runs that could end
		t.status, t.updated, t.asks = taskCancelled, time.Now(), nil
	}
	t.mu.Unlock()
	t.cancel(why)
	if asks {
		t.untie()
		t.store.expire(t)
	}
}

// answer takes answers to what the task asks; others are ignored. When nothing is
// asked any more, the call goes on.
func (t *task) answer(given map[string]json.RawMessage) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	asked := map[string]json.RawMessage{}
	for key, value := range given {
		if _, is := t.asks[key]; is {
			asked[key] = value
		}
	}
	if len(asked) == 0 {
		return nil
	}
	data, err := json.Marshal(asked)
	var answers mcp.InputResponseMap
	if err == nil {
		err = strictjson.Unmarshal(data, &answers)
	}
	if err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: inputResponses: an answer does not have the form that its question asks for"}
	}
	for key, value := range answers {
		t.answers[key] = value
		delete(t.asks, key)
	}
	t.updated = time.Now()
	if len(t.asks) == 0 {
		t.status = taskWorking
		answers, state := t.answers, t.state
		t.store.alive.Go(func() { t.round(answers, state) })
	}
	return nil
}

// weight reports whether the task is over, and then how many bytes its answer has.
func (t *task) weight() (over bool, size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.result != nil {
		for _, c := range t.result.Content {
			if text, ok := c.(*mcp.TextContent); ok {
				size += len(text.Text)
			}
		}
		if raw, ok := t.result.StructuredContent.(json.RawMessage); ok {
			size += len(raw)
		}
	}
	return t.status.over(), size
}

// tell says how the task is; in full for tasks/get.
func (t *task) tell(full bool) *taskState {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &taskState{
		ResultType: typeTask, TaskID: t.id, Status: t.status, CreatedAt: wireTime(t.began), LastUpdatedAt: wireTime(t.updated),
		PollInterval: taskPoll.Milliseconds(),
	}
	until := t.updated
	if !t.status.over() {
		until = time.Now()
	}
	s.TTL = (until.Sub(t.began) + taskKept).Milliseconds()
	if !full {
		return s
	}
	s.ResultType = typeComplete
	switch t.status {
	case taskAsks:
		s.InputRequests = t.asks
	case taskCompleted:
		s.Result = t.result
	case taskFailed:
		s.Error = coded(t.err)
	case taskWorking, taskCancelled:
	}
	return s
}

// coded is an error as the protocol writes it.
func coded(err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	if errors.As(err, &e) && e.Code != 0 {
		return e
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}
