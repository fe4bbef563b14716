package mcpserver

import (
	"encoding/json"
	"time"

	"tipstaff/internal/strictjson"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The messages of the extension for tasks (SEP-2663), as they are on the wire.

// tasksName is the extension's name among the capabilities.
const tasksName = "io.modelcontextprotocol/tasks"

// taskStatus says how far a task has come.
type taskStatus string

const (
	taskWorking   taskStatus = "working"
	taskAsks      taskStatus = "input_required"
	taskCompleted taskStatus = "completed" // with the answer of the call, a tool's error too
	taskFailed    taskStatus = "failed"    // with an error of the protocol
	taskCancelled taskStatus = "cancelled"
)

// over reports whether nothing will change any more.
func (s taskStatus) over() bool { return s == taskCompleted || s == taskFailed || s == taskCancelled }

// Values of resultType.
const (
	typeTask     = "task"
	typeComplete = "complete"
)

// taskState is what is told of a task. A call that becomes a task is answered
// with it, and tasks/get, where the last three may be added.
type taskState struct {
	mcp.ResultBase

	ResultType    string     `json:"resultType"`
	TaskID        string     `json:"taskId"`
	Status        taskStatus `json:"status"`
	StatusMessage string     `json:"statusMessage,omitempty"`
	CreatedAt     string     `json:"createdAt"`
	LastUpdatedAt string     `json:"lastUpdatedAt"`
	TTL           int64      `json:"ttlMs"`
	PollInterval  int64      `json:"pollIntervalMs,omitempty"`
	InputRequests any        `json:"inputRequests,omitempty"`
	Result        mcp.Result `json:"result,omitempty"`
	Error         any        `json:"error,omitempty"`
}

// taskAck answers what needs no other answer.
type taskAck struct {
	mcp.ResultBase

	ResultType string `json:"resultType"`
}

// taskParams are those of all three methods.
type taskParams struct {
	mcp.ParamsBase

	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses"`
}

// wireTime writes a time as the protocol has it.
func wireTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// declaresTasks reports whether a request says that its client knows tasks. Only
// requests of the stateless protocol say so; an older one had other tasks.
func declaresTasks(m map[string]any) bool {
	var c struct {
		Extensions map[string]json.RawMessage `json:"extensions"`
	}
	data, err := json.Marshal(m[mcp.MetaKeyClientCapabilities])
	if err != nil || strictjson.Unmarshal(data, &c) != nil {
		return false
	}
	_, declared := c.Extensions[tasksName]
	return declared
}

// needsTasks is the error for a request that makes sense only with tasks.
func needsTasks() error {
	data, err := json.Marshal(map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksName: struct{}{}}}})
	if err != nil {
		data = nil // cannot happen
	}
	return &jsonrpc.Error{
		Code: mcp.CodeMissingRequiredClientCapabilities, Data: data,
		Message: "this needs a client that declares the extension " + tasksName + " with the request",
	}
}

// noTask is the error for a task that is not the caller's, or is no more, or never
// was.
func noTask() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: there is no such task; it may be over for some minutes"}
}
