//go:build unix

package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
)

// taskAnswer is what a request about a task may be answered with.
type taskAnswer struct {
	Result struct {
		ResultType, TaskID, Status, StatusMessage string
		TTLMs                                     int64
		Content                                   []struct{ Text string }
		Result                                    struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	Error struct {
		Code    int
		Message string
	}
}

// ask sends one request of the stateless protocol.
func (w *web) ask(c *http.Client, declared bool, method, name string, params map[string]any) taskAnswer {
	w.t.Helper()
	capabilities := map[string]any{}
	if declared {
		capabilities["extensions"] = map[string]any{tasksName: map[string]any{}}
	}
	params["_meta"] = map[string]any{
		mcp.MetaKeyProtocolVersion: firstStateless, mcp.MetaKeyClientInfo: map[string]any{"name": "test", "version": "1"}, mcp.MetaKeyClientCapabilities: capabilities,
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
	if err != nil {
		w.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url, strings.NewReader(string(body)))
	if err != nil {
		w.t.Fatal(err)
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", versionHeader: firstStateless, "Mcp-Method": method, "Mcp-Name": name} {
		req.Header.Set(k, v)
	}
	res, err := c.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	text := string(data)
	if _, after, streamed := strings.Cut(text, "data: "); streamed {
		text = strings.TrimSpace(after[strings.LastIndex(after, "data: ")+len("data: "):])
		if !strings.Contains(after, "data: ") {
			text = strings.TrimSpace(after)
		}
	}
	var a taskAnswer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		w.t.Fatalf("%s: %v", data, err)
	}
	return a
}

func (w *web) long(c *http.Client, declared bool) taskAnswer {
	return w.ask(c, declared, "tools/call", "execute_command", map[string]any{"name": "execute_command", "arguments": map[string]any{"command": "x"}})
}

func (w *web) about(c *http.Client, method, id string) taskAnswer {
	return w.ask(c, true, method, id, map[string]any{"taskId": id, "inputResponses": map[string]any{}})
}

// over asks until a task is over.
func (w *web) over(c *http.Client, id string) taskAnswer {
	w.t.Helper()
	for limit := time.Now().Add(20 * time.Second); ; {
		a := w.about(c, "tasks/get", id)
		if a.Result.Status != string(taskWorking) {
			return a
		}
		if time.Now().After(limit) {
			w.t.Fatalf("the task does not end: %+v", a)
		}
	}
}

// held serves commands that end when the test says so, or when they are cancelled.
func held(t *testing.T) (w *web, release chan string) {
	t.Helper()
	release = make(chan string)
	r := &fakeMonitor{execute: func(ctx context.Context, _ tipstaff.Request) (tipstaff.Result, error) {
		select {
		case said := <-release:
			return exited(0, said, ""), nil
		case <-ctx.Done():
			return tipstaff.Result{Cause: tipstaff.Cancelled}, nil
		}
	}}
	return serveWeb(t, r.options(), webOptions()), release
}

func TestACallThatTakesLongBecomesATaskOfAClientThatDeclaresThem(t *testing.T) {
	t.Parallel()
	w, release := held(t)
	me, other := as("me"), as("other")
	a := w.long(me, true)
	id := a.Result.TaskID
	if a.Result.ResultType != "task" || a.Result.Status != "working" || a.Result.TTLMs < taskKept.Milliseconds() || id == "" {
		t.Fatalf("%+v", a)
	}
	if a := w.about(me, "tasks/get", id); a.Result.Status != "working" || a.Result.ResultType != "complete" {
		t.Errorf("%+v", a)
	}
	for what, a := range map[string]taskAnswer{
		"another principal's": w.about(other, "tasks/get", id), "to cancel another's": w.about(other, "tasks/cancel", id), "one that never was": w.about(me, "tasks/get", "task_x"),
	} {
		if a.Error.Code != -32602 || a.Error.Message != noTask().Error() {
			t.Errorf("%s: %+v", what, a)
		}
	}
	if a := w.ask(me, false, "tasks/get", id, map[string]any{"taskId": id}); a.Error.Code != mcp.CodeMissingRequiredClientCapabilities {
		t.Errorf("without the declaration: %+v", a)
	}
	if a := w.ask(me, true, "tasks/get", "task_x", map[string]any{"taskId": id}); a.Error.Code != mcp.CodeHeaderMismatch {
		t.Errorf("with another name in the header: %+v", a)
	}
	release <- "at last\n"
	a = w.over(me, id)
	if a.Result.Status != "completed" || len(a.Result.Result.Content) != 1 || !strings.Contains(a.Result.Result.Content[0].Text, "at last") {
		t.Errorf("%+v", a)
	}
	if a := w.about(me, "tasks/cancel", id); a.Result.ResultType != "complete" || a.Error.Code != 0 {
		t.Errorf("to cancel what is over: %+v", a)
	}
	if a := w.about(me, "tasks/get", id); a.Result.Status != "completed" {
		t.Errorf("%+v", a)
	}
}

func TestAShortCallIsAnsweredAsEver(t *testing.T) {
	w, release := held(t)
	for _, declared := range []bool{false, true} {
		var a taskAnswer
		for tries := 0; tries == 0 || a.Result.TaskID != "" && tries < 3; tries++ { // on a busy machine it may take a second
			go func() { release <- "soon\n" }()
			a = w.long(as("me"), declared)
		}
		if a.Result.ResultType != "complete" || a.Result.TaskID != "" || len(a.Result.Content) != 1 || !strings.Contains(a.Result.Content[0].Text, "soon") {
			t.Errorf("declared %v: %+v", declared, a)
		}
	}
}

func TestATaskThatIsCancelledEndsItsCommand(t *testing.T) {
	w, _ := held(t)
	me := as("me")
	id := w.long(me, true).Result.TaskID
	if a := w.about(me, "tasks/cancel", id); a.Result.ResultType != "complete" || a.Result.Status != "" {
		t.Errorf("%+v", a)
	}
	if a := w.over(me, id); a.Result.Status != "cancelled" {
		t.Errorf("%+v", a)
	}
}

func TestTasksEndWithTheServer(t *testing.T) {
	t.Parallel()
	w, _ := held(t)
	if id := w.long(as("me"), true).Result.TaskID; id == "" {
		t.Fatal("no task")
	}
	w.handler.Close(t.Context(), fmt.Errorf("the server ends"))
	w.handler.server.tasks.alive.Wait() // their calls have ended
}

func TestTasksAreBounded(t *testing.T) {
	st := &taskStore{}
	for i := range mostOwnTasks + 1 {
		one := &task{id: fmt.Sprint(i), store: st, status: taskWorking}
		if kept := st.keep(one); kept != (i < mostOwnTasks) {
			t.Fatalf("the task %d is kept: %v", i, kept)
		}
	}
	for _, one := range st.tasks {
		one.status, one.result = taskCompleted, errorText(strings.Repeat("x", mostKeptBytes/mostOwnTasks))
	}
	if st.keep(&task{id: "x", store: st, status: taskWorking}) {
		t.Error("there is no memory for another end")
	}
}
