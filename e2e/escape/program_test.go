//go:build linux && !race

package escape

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"tipstaff/e2e/kit"
)

const impostor = "#!/bin/sh\necho gotcha\n"

// TestEscapeE62NoProgramOfTheWorkspaceTakesTheNameOfAnother: the server's PATH
// contains its working directory in every possible form.
func TestEscapeE62NoProgramOfTheWorkspaceTakesTheNameOfAnother(t *testing.T) {
	t.Parallel()
	furnish := func(t *testing.T, w *world) {
		for _, name := range []string{"ws/uname", "ws/bin/uname"} {
			w.put(t, name, impostor)
			if err := os.Chmod(w.path(name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		w.put(t, "home/tools-allow.json", `["uname", "sh"]`)
	}
	paths := habitat{furnish: furnish, env: []string{
		"PATH=.:bin::./bin:{dir}/bin:/usr/local/bin:/usr/bin:/bin", "ALLOWED_COMMANDS=uname,sh,true",
	}}
	everywhere(t, paths, func(t *testing.T, w *world) {
		plain := exec.Command("/bin/sh", "-c", "uname")
		plain.Dir, plain.Env, plain.SysProcAttr = w.Workspace, w.Cmd.Env, kit.As(w.uid)
		if out, err := plain.Output(); err != nil || string(out) != "gotcha\n" {
			t.Fatalf("by this PATH a shell does not find the impostor: %v %s", err, out)
		}
		s := w.On(t)
		id := s.NewSession()
		for how, said := range map[string]string{
			"a line":           s.Command("uname").Ran().Stdout,
			"a process":        s.Process("uname", nil).Ran().Stdout,
			"a script":         s.Process("sh", []string{"-c", "uname"}).Ran().Stdout,
			"one of a session": s.InSession(id, "uname", nil).JSON().Stdout,
		} {
			if said != "Linux\n" {
				t.Errorf("%s ran something else: %q", how, said)
			}
		}
	})
}

// TestEscapeE62NoProgramIsPutWhereProgramsAreFound: the operator may put an
// absolute directory of the workspace into the PATH; commands must not write to
// it. Landlock cannot protect a part of a writable directory.
func TestEscapeE62NoProgramIsPutWhereProgramsAreFound(t *testing.T) {
	tools := habitat{
		furnish: func(t *testing.T, w *world) { w.put(t, "ws/tools/tool", impostor) },
		env:     []string{"PATH={dir}/ws/tools:{dir}/bin:/usr/local/bin:/usr/bin:/bin"},
	}
	tried(t, tools, []escape{
		{says: "E62 a program is not added", try: "create ../tools/ls", namespaces: "EROFS", landlock: "ok"},
		{says: "E62 nor changed", try: "append ../tools/tool", namespaces: "EROFS", landlock: "ok"},
		{says: "E62 nor does the directory make room for another", try: "rename ../tools ../t", namespaces: "EBUSY", landlock: "ok"},
	}, nil)
}

// TestEscapeE63AProgramThatWasReplacedIsSeen: while a program's file is
// replaced again and again, a command runs the file that was judged, and the
// record shows the change. A program that is replaced in between is refused,
// which the runner's own tests show.
func TestEscapeE63AProgramThatWasReplacedIsSeen(t *testing.T) {
	t.Parallel()
	furnish := func(t *testing.T, w *world) {
		w.put(t, "bin/tool", "#!/bin/sh\necho one\n")
		w.put(t, "bin/other", "#!/bin/sh\necho two\n")
		for _, name := range []string{"bin/tool", "bin/other"} {
			if err := os.Chmod(w.path(name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	everywhere(t, habitat{furnish: furnish}, func(t *testing.T, w *world) {
		s := w.On(t)
		if b := s.Command("tool").Ran(); b.Stdout != "one\n" {
			t.Fatalf("%+v", b)
		}
		if err := os.Rename(w.path("bin/other"), w.path("bin/tool")); err != nil {
			t.Fatal(err)
		}
		if b := s.Command("tool").Ran(); b.Stdout != "two\n" {
			t.Fatalf("%+v", b)
		}
		var changed []string
		for _, r := range s.Records() {
			what, _ := r["what"].(map[string]any)
			if r["event"] == "command.start" && strings.HasPrefix(fmt.Sprint(what["argv"]), "[tool") {
				changed = append(changed, fmt.Sprint(what["file_changed"]))
			}
		}
		if fmt.Sprint(changed) != "[<nil> true]" {
			t.Errorf("the record says %v of the change", changed)
		}
	})
}
