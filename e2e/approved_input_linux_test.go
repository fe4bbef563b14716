//go:build linux && !race

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/e2e/kit"
)

// TestWhatAPersonSawOfTheInputIsWhatTheCommandReads, also if somebody changes it while
// the person decides, and afterwards. What cannot be shown does not run.
func TestWhatAPersonSawOfTheInputIsWhatTheCommandReads(t *testing.T) {
	t.Parallel()
	var workspace, shown string
	change := func() error { return nil }
	o := &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		shown = r.Params.Message
		if err := change(); err != nil {
			return nil, err
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow once"}}, nil
	}}
	s := prepare(t, setup{env: []string{"ENABLE_TERMINAL_ACCESS=true"}, files: map[string]string{"input": "echo good\n", "lib": "echo echo evil | sh -s needs-a-person\n"}}.withPolicy(t, asksAboutMuch))
	s.Options, s.Version, workspace = o, "2025-11-25", s.Workspace
	s.Connect()
	evil := func() error {
		return os.WriteFile(filepath.Join(workspace, "input"), []byte("echo evil\n"), 0o600)
	}
	good := func() error {
		return os.WriteFile(filepath.Join(workspace, "input"), []byte("echo good\n"), 0o600)
	}
	for _, c := range []struct {
		says, script string
		change       func() error
		want, shows  string // of the output, and of the question
	}{
		{"a file that nobody changes", "sh -s needs-a-person < input", good, "good", "input, with the SHA-256"},
		{"a file that is changed when the script has begun", "x=a$RANDOM; sh -s needs-a-person $x < input", evil, "good", "input, with the SHA-256"},
		{"a here-document with a variable", "x=good; sh -s needs-a-person <<E\necho $x\nE", good, "good", "echo good"},
		{"a here-document with a file in it", "sh -s needs-a-person <<E\n$(cat input)\nE", evil, "good", "echo good"},
		{"a here-string with a variable", "x='echo good'; sh -s needs-a-person <<< \"$x\"", good, "good", "echo good"},
		{"nothing", "echo echo evil | sh -s needs-a-person < /dev/null", good, "", "nothing"},
		{"a loop's pipe, which others read", "printf '%s\\n' a b | while read x; do sh -c 'echo $1' needs-a-person $x; done", good, "a\n  b", "while read x"},
		{"a function in a pipe", "f() { sh -s needs-a-person; }; echo echo evil | f", good, "cannot be shown", ""},
		{"another descriptor", "exec 3<<< 'echo evil'; sh -s needs-a-person <&3", good, "cannot be shown", ""},
		{"a file of commands with a pipe", ". ./lib", good, "cannot be shown", ""},
	} {
		if err := good(); err != nil {
			t.Fatal(err)
		}
		shown, change = "", c.change
		r := s.Call("execute_shell", kit.Args{"script": c.script})
		if !strings.Contains(r.Text, c.want) || strings.Contains(r.Text, "evil") && !strings.Contains(r.Text, "cannot be shown") {
			t.Errorf("%s: %s", c.says, r.Text)
		}
		if !strings.Contains(shown, c.shows) || (shown == "") != (c.shows == "") {
			t.Errorf("%s: the person was shown %q, want %q", c.says, shown, c.shows)
		}
	}
}
