//go:build linux

package e2e

import (
	"os/exec"
	"strings"
	"testing"

	"tipstaff/e2e/kit"
)

// TestAScriptProcessDoesNotWaitForWhatOnlyServersNeed: the initialization of these
// packages takes as long as all of its own.
func TestAScriptProcessDoesNotWaitForWhatOnlyServersNeed(t *testing.T) {
	initialized := func(arg string) string {
		cmd := exec.Command(kit.Path(t), arg)
		cmd.Env = []string{"GODEBUG=inittrace=1"}
		out, _ := cmd.CombinedOutput() // without its socket, a script process fails
		return string(out)
	}
	scriptProcess, control := initialized("__script-process"), initialized("version")
	if !strings.Contains(scriptProcess, "init tipstaff/internal/shell ") || !strings.Contains(scriptProcess, "script process: ") {
		t.Fatalf("no script process ran:\n%s", scriptProcess)
	}
	for _, pkg := range []string{"net/http", "github.com/prometheus/client_golang/prometheus", "github.com/modelcontextprotocol/go-sdk/mcp", "tipstaff/internal/mcpfront", "main"} {
		if line := "init " + pkg + " "; strings.Contains(scriptProcess, line) || !strings.Contains(control, line) {
			t.Errorf("%s: a script process initializes it, or the program does not", pkg)
		}
	}
}
