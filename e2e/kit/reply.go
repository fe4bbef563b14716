//go:build unix

package kit

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.yaml.in/yaml/v4"
)

// Reply is the answer of a tool. Its methods fail the test T.
type Reply struct {
	T       *testing.T
	Text    string
	IsError bool
	Result  *mcp.CallToolResult
}

// YAMLBody is what family A answers.
type YAMLBody struct {
	ExitCode  int    `yaml:"exit_code"`
	Stdout    string `yaml:"stdout"`
	Stderr    string `yaml:"stderr"`
	Signal    string `yaml:"signal"`
	Truncated bool   `yaml:"truncated"`
	Cleaned   bool   `yaml:"cleaned"`
	Error     string `yaml:"error"`
	Hint      string `yaml:"hint"`
}

// YAML reads an answer of family A.
func (r Reply) YAML() YAMLBody {
	r.T.Helper()
	var b YAMLBody
	if err := yaml.Unmarshal([]byte(r.Text), &b); err != nil {
		r.T.Fatalf("not YAML: %v\n%s", err, r.Text)
	}
	return b
}

// JSONBody is what family B answers.
type JSONBody struct {
	Success            bool           `json:"success"`
	Error              string         `json:"error"`
	Message            string         `json:"message"`
	Hint               string         `json:"hint"`
	Details            map[string]any `json:"details"`
	SessionID          string         `json:"sessionId"`
	WorkingDirectory   string         `json:"workingDirectory"`
	CreatedAt          string         `json:"createdAt"`
	DroppedEnvironment []string       `json:"droppedEnvironment"`
	DroppedReasons     []string       `json:"droppedEnvironmentReasons"`
	ExitCode           int            `json:"exitCode"`
	Stdout             string         `json:"stdout"`
	Stderr             string         `json:"stderr"`
	Duration           float64        `json:"duration"`
	Truncated          bool           `json:"truncated"`
	Cleaned            bool           `json:"cleaned"`
	Signal             string         `json:"signal"`
	Session            struct {
		ID, TaskID, AgentID, WorkingDirectory, State, CreatedAt, LastCommandAt string
		CommandCount                                                           int
	} `json:"session"`
}

// JSON reads an answer of family B and checks that its text and its structured
// form are the same.
func (r Reply) JSON() JSONBody {
	r.T.Helper()
	var b JSONBody
	if err := json.Unmarshal([]byte(r.Text), &b); err != nil {
		r.T.Fatalf("not JSON: %v\n%s", err, r.Text)
	}
	var fromText any
	_ = json.Unmarshal([]byte(r.Text), &fromText)
	if structured, _ := json.Marshal(r.Result.StructuredContent); !sameJSON(structured, fromText) {
		r.T.Errorf("the structured content differs from the text:\n%s\n%s", structured, r.Text)
	}
	return b
}

func sameJSON(structured []byte, fromText any) bool {
	again, err := json.Marshal(fromText)
	return err == nil && bytes.Equal(structured, again)
}

// Ran fails the test unless a command ran to its end with exit code 0.
func (r Reply) Ran() YAMLBody {
	r.T.Helper()
	b := r.YAML()
	if r.IsError || b.ExitCode != 0 {
		r.T.Fatalf("it did not run well:\n%s", r.Text)
	}
	return b
}

// Refused fails the test unless the call was refused with a text that contains
// all of want.
func (r Reply) Refused(want ...string) {
	r.T.Helper()
	if !r.IsError {
		r.T.Fatalf("it was not refused:\n%s", r.Text)
	}
	for _, w := range want {
		if !strings.Contains(r.Text, w) {
			r.T.Errorf("the refusal does not say %q:\n%s", w, r.Text)
		}
	}
}

// Code fails the test unless the answer is an error of family B with the code.
func (r Reply) Code(code string, want ...string) JSONBody {
	r.T.Helper()
	b := r.JSON()
	if !r.IsError || b.Success || b.Error != code || b.Message == "" {
		r.T.Fatalf("want the error %s:\n%s", code, r.Text)
	}
	for _, w := range want {
		if !strings.Contains(r.Text, w) {
			r.T.Errorf("the error does not say %q:\n%s", w, r.Text)
		}
	}
	return b
}

// ExitCode returns the exit code of a program that failed, or why there is
// none.
func ExitCode(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return strconv.Itoa(exit.ExitCode())
	}
	return err.Error()
}
