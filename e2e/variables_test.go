//go:build unix

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tipstaff/e2e/kit"
)

// byVariable are programs that a variable makes run code of the workspace: that
// code prints the line "evil".
var byVariable = []struct {
	says  string
	name  string
	value string // {W} is the workspace
	argv  []string
	files map[string]string
}{
	{"a switch that puts the working directory on Perl's path", "PERL_USE_UNSAFE_INC", "1", []string{"perl", "-MEvil", "-e", "1"},
		map[string]string{"Evil.pm": "print \"evil\\n\"; 1;"}},
	{"a directory from which Tcl runs its start-up file", "TCL_LIBRARY", "{W}/tcl", []string{"tclsh", "x.tcl"},
		map[string]string{"tcl/init.tcl": "puts evil\n", "x.tcl": "puts done\n"}},
	{"a program that make runs", "YACC", "./evil #", []string{"make", "x.c"},
		map[string]string{"evil": "#!/bin/sh\necho evil\ntouch y.tab.c\n", "x.y": ""}},
	{"a command in what make expands", "FOO", "$(shell echo evil >&2)", []string{"make", "x"},
		map[string]string{"Makefile": "x:\n\t@echo $(FOO)\n"}},
}

// TestB11NoVariableOfACallerRunsCodeOfTheWorkspace: sessions drop such
// variables with the reason. The controls show that the variables work in a
// process outside of tipstaff, and in a session to which the operator passes
// them on.
func TestB11NoVariableOfACallerRunsCodeOfTheWorkspace(t *testing.T) {
	t.Parallel()
	for _, c := range byVariable {
		t.Run(c.says, func(t *testing.T) {
			if _, err := exec.LookPath(c.argv[0]); err != nil {
				t.Skipf("no %s here", c.argv[0])
			}
			files := setup{files: c.files, allowlist: `["` + c.argv[0] + `"]`}
			s := start(t, files)
			value := strings.ReplaceAll(c.value, "{W}", s.Workspace)
			chmodAll(t, s.Workspace)

			control := exec.Command(c.argv[0], c.argv[1:]...)
			control.Dir, control.Env = s.Workspace, append(os.Environ(), c.name+"="+value)
			if out, _ := control.CombinedOutput(); !printed(string(out)) {
				t.Fatalf("the control did not run it:\n%s", out)
			}
			_ = os.Remove(filepath.Join(s.Workspace, "x.c"))

			made := s.Call("terminal_create_session", kit.Args{"taskId": "t", "agentId": "a", "environment": map[string]string{c.name: value}}).JSON()
			if len(made.DroppedEnvironment) != 1 || len(made.DroppedReasons) != 1 || !strings.HasPrefix(made.DroppedReasons[0], c.name+" was dropped: ") ||
				!strings.Contains(made.DroppedReasons[0], "environment: {pass: ["+c.name+"]}") {
				t.Errorf("dropped %q: %q", made.DroppedEnvironment, made.DroppedReasons)
			}
			if r := s.InSession(made.SessionID, c.argv[0], c.argv[1:]); printed(r.JSON().Stdout + r.JSON().Stderr) {
				t.Errorf("it ran:\n%s", r.Text)
			}

			files.files = c.files
			name, _ := json.Marshal(c.argv[0])
			passed := start(t, files.withPolicy(t, "version: 1\ncommands:\n  "+string(name)+": {allow: [\"*\"], environment: {pass: ["+c.name+"]}}\n"))
			chmodAll(t, passed.Workspace)
			id := passed.NewSession(kit.Args{"environment": map[string]string{c.name: strings.ReplaceAll(c.value, "{W}", passed.Workspace)}})
			if r := passed.InSession(id, c.argv[0], c.argv[1:]); !printed(r.JSON().Stdout + r.JSON().Stderr) {
				t.Errorf("with pass it did not run:\n%s", r.Text)
			}
		})
	}
}

// printed reports whether the line "evil" was printed.
func printed(out string) bool { return strings.Contains("\n"+out, "\nevil\n") }

// chmodAll makes the files of a workspace executable.
func chmodAll(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			if err := os.Chmod(filepath.Join(dir, e.Name()), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
}
