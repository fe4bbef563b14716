//go:build unix

package e2e

import (
	"fmt"
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
	if kit.RaceEnabled {
		t.Skip("the race detector is for servers; TestContract has it")
	}
	runScripts(t, "testdata", func(env *testscript.Env) error {
		env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
		env.Setenv("TIPSTAFF_STATE_DIR", filepath.Join(env.WorkDir, "state"))
		return os.Mkdir(filepath.Join(env.WorkDir, "home"), 0o755)
	})
}

// TestContract tests the rows of docs/contract.md as a client sees them: each file
// in testdata/contract is a conversation with a server, and its name begins with
// the row.
func TestContract(t *testing.T) {
	runScripts(t, filepath.Join("testdata", "contract"), func(env *testscript.Env) error {
		outside := env.Getenv("OUTSIDE") // the workspace has the files of the script alone
		env.Setenv("HOME", outside)
		env.Setenv("TIPSTAFF_STATE_DIR", filepath.Join(outside, "state"))
		return nil
	})
}

// runScripts runs the scripts of a directory side by side. Their own directories
// are removed in the end, when no server uses one any more.
func runScripts(t *testing.T, dir string, setup func(*testscript.Env) error) {
	t.Helper()
	bin := filepath.Dir(kit.Path(t))
	testcmd := testcmdtest.Build(t)
	commands := conversing()
	commands["exits"] = exits
	deadline, _ := t.Deadline()
	testscript.RunT(subtest{t}, testscript.Params{
		Dir:                 dir,
		WorkdirRoot:         t.TempDir(),
		Deadline:            deadline,
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
			env.Setenv("OUTSIDE", env.T().(subtest).TempDir())
			env.Values[conversationKey{}] = &conversation{t: env.T().(subtest).T}
			return setup(env)
		},
		Condition: condition,
		Cmds:      commands,
	})
}

// condition reports whether long tests run ([long]; see testcmdtest.Long), and
// whether the server has the race detector ([race]).
func condition(name string) (bool, error) {
	switch name {
	case "long":
		return testcmdtest.All(), nil
	case "race":
		return kit.RaceEnabled, nil
	}
	return false, fmt.Errorf("there is no condition %s", name)
}

// subtest gives scripts their *testing.T, which testscript.Run hides.
type subtest struct{ *testing.T }

// Run runs a script.
func (s subtest) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(subtest{t}) })
}

// Verbose reports whether the tests run with -v.
func (s subtest) Verbose() bool { return testing.Verbose() }

// exits CODE PROGRAM ARG… runs a program and checks its exit code; PROGRAM may be
// call.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	if args[1] == "call" {
		conversationOf(ts).exits(args[0], args[2:])
		return
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
