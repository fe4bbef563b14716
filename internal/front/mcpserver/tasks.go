package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/internal/run/job"
)

// The extension for tasks (SEP-2663), for clients of the stateless protocol that
// declare it: a call that takes longer than a second is answered with a task, and
// the client asks for its end (tasks/get), or gives it up (tasks/cancel). So no
// call outlives the time that a client waits for an answer. What runs is the same
// call as without: its time limit, its record and its place in its session are
// its own, and it ends with its connection over stdio and with the server. A task
// of another caller is answered like one that never was.

// Tasking says which calls of a tool become tasks.
type Tasking struct {
	// After is how long a call is waited for before it becomes one; below 0: it
	// becomes one at once.
	After time.Duration
	// Required: without tasks the tool cannot be called.
	Required bool
}

// tasking returns the Tasking of a tool, and whether its calls can be tasks.
func (s *Server) tasking(name string) (Tasking, bool) {
	if t, known := toolNamed(name); known {
		return Tasking{After: taskAfter}, t.family != "" || t.follows
	}
	if s.opts.Extension == nil {
		return Tasking{}, false
	}
	how, is := s.opts.Extension.Tasks[name]
	return how, is
}

// addTasks offers the methods of the extension.
func (s *Server) addTasks() {
	add := func(method string, answer func(*task, *taskParams) (mcp.Result, error)) {
		err := mcp.AddReceivingCustomMethod(s.mcp, method, func(ctx context.Context, _ *mcp.ServerSession, p *taskParams) (mcp.Result, error) {
			if p == nil || !declaresTasks(p.GetMeta()) {
				return nil, needsTasks()
			}
			t, err := s.tasks.find((&caller{in: inboundOf(ctx)}).taskOwner(), p.TaskID)
			if err != nil {
				return nil, err
			}
			return answer(t, p)
		})
		if err != nil {
			panic(err) // the name of a method of the protocol itself
		}
	}
	add("tasks/get", func(t *task, _ *taskParams) (mcp.Result, error) { return t.tell(true), nil })
	add("tasks/update", func(t *task, p *taskParams) (mcp.Result, error) {
		if err := t.answer(p.InputResponses); err != nil {
			return nil, err
		}
		return &taskAck{ResultType: typeComplete}, nil
	})
	add("tasks/cancel", func(t *task, _ *taskParams) (mcp.Result, error) {
		t.stop(errTaskCancelled)
		return &taskAck{ResultType: typeComplete}, nil
	})
}

// taskOwner is whose tasks the caller's are.
func (c *caller) taskOwner() job.Owner {
	c.origin.Principal = c.in.principal.Name
	return c.owner()
}

// asTask lets calls that take long become tasks.
func (s *Server) asTask(next mcp.MethodHandler) mcp.MethodHandler {
	next = s.recoverPanics(next) // a task has a goroutine of its own
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok || call.Params == nil {
			return next(ctx, method, req)
		}
		how, may := s.tasking(call.Params.Name)
		switch declared := declaresTasks(call.Params.Meta); {
		case may && declared:
			return s.begin(ctx, how, call, next, method)
		case may && how.Required:
			return nil, needsTasks()
		}
		return next(ctx, method, req)
	}
}

// begin carries out a call, and answers with a task if it takes longer.
func (s *Server) begin(ctx context.Context, how Tasking, req *mcp.CallToolRequest, next mcp.MethodHandler, method string) (mcp.Result, error) {
	in := inboundOf(ctx)
	t := &task{id: "task_" + rand.Text(), owner: (&caller{in: in}).taskOwner(), began: time.Now(), updated: time.Now(), status: taskWorking, store: &s.tasks}
	t.ctx, t.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	t.call = func(ctx context.Context, answers mcp.InputResponseMap, state string) (mcp.Result, error) {
		p := *req.Params
		p.Meta = maps.Clone(p.Meta)
		delete(p.Meta, "progressToken") // who asks for the end of a task needs no signs of life
		if answers != nil {
			p.InputResponses, p.RequestState = answers, state
		}
		return next(ctx, method, &mcp.CallToolRequest{Session: req.Session, Params: &p, Extra: req.Extra})
	}
	t.untie = func() bool { return true }
	if in.post != nil {
		front := in.post.handler.ctx
		t.untie = context.AfterFunc(front, func() { t.stop(context.Cause(front)) })
	}
	first := make(chan func() (mcp.Result, error), 1)
	s.tasks.alive.Go(func() {
		res, err := t.call(t.ctx, nil, "")
		t.note(res, err)
		first <- func() (mcp.Result, error) { return res, err }
	})
	timer := time.NewTimer(max(how.After, 0))
	defer timer.Stop()
	soon := timer.C
	for {
		ready := first
		if how.After < 0 {
			ready = nil // it becomes a task even if it has ended
		}
		select {
		case end := <-ready:
			t.untie()
			return end()
		case <-ctx.Done():
			t.cancel(context.Cause(ctx))
			end := <-first
			t.untie()
			return end()
		case <-soon:
			if s.tasks.keep(t) {
				return t.tell(false), nil
			}
			soon, how.After = nil, 0 // there is no room: the call waits for its end
		}
	}
}

// errNotNamed: the header that routes a request names another task.
var errNotNamed = errors.New("header mismatch: Mcp-Name must be the taskId of the request")

// taskMethods are the methods of the extension.
var taskMethods = []string{"tasks/get", "tasks/update", "tasks/cancel"}

// routed checks the header by which a request about a task is routed.
func routed(header string, m envelope) error {
	if !slices.Contains(taskMethods, m.Method) {
		return nil
	}
	if id := m.text("taskId"); id != "" && header != id {
		return errNotNamed
	}
	return nil
}
