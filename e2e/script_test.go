//go:build unix && !race

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tipstaff/e2e/kit"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// TestScripts tests the promises of the command line: each file in testdata is
// a script that a user could have typed.
func TestScripts(t *testing.T) {
	bin := filepath.Dir(kit.Path(t))
	testcmd := testcmdtest.Build(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			tools := filepath.Join(env.WorkDir, ".tools")
			if err := os.Mkdir(tools, 0o755); err != nil {
				return err
			}
			if err := os.Link(testcmd, filepath.Join(tools, "testcmd")); err != nil {
				return err
			}
			env.Setenv("PATH", bin+":"+tools+":/usr/local/bin:/usr/bin:/bin")
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("TIPSTAFF_STATE_DIR", filepath.Join(env.WorkDir, "state"))
			return os.Mkdir(filepath.Join(env.WorkDir, "home"), 0o755)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits,
		},
	})
}

// exits CODE PROGRAM ARG… runs a program and checks its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		code = kit.ExitCode(err)
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}
