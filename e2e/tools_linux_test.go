//go:build contain

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDeveloperToolsWorkConfined plays the projects of testdata/tools through
// the built binary, in both tiers and as two users, each in a home and a
// workspace of its own and with nothing but the profile's rights. What a
// project is, tools_project_test.go says.
func TestDeveloperToolsWorkConfined(t *testing.T) {
	files, err := filepath.Glob("testdata/tools/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no projects: %v", err)
	}
	for _, file := range files {
		p := readProject(t, file)
		for _, run := range p.runs() {
			t.Run(p.name+"/"+run.String(), func(t *testing.T) {
				t.Parallel()
				run.play(t, p)
			})
		}
	}
}

// toolRun is one way to play a project.
type toolRun struct {
	arrangement
	network string
}

func (r toolRun) String() string { return fmt.Sprintf("%s, network %s", r.arrangement, r.network) }

// runs are all ways to play a project. Without namespaces there is no loopback
// of one's own, so that a program that needs one needs the network.
func (p *project) runs() []toolRun {
	var list []toolRun
	for _, a := range arrangements() {
		if a.tier == landlockTier {
			list = append(list, toolRun{a, "on"})
			continue
		}
		for _, network := range p.networks {
			list = append(list, toolRun{a, network})
		}
	}
	return list
}

// workplace is what a user has to work with.
type workplace struct {
	uid             int
	home, workspace string
	env             []string
}

func (r toolRun) play(t *testing.T, p *project) {
	base := plot(t, homesDir(t))
	w := &workplace{uid: r.uid, home: filepath.Join(base, "home"), workspace: filepath.Join(base, "home", "work")}
	writeFiles(t, base, p.files)
	if err := os.MkdirAll(w.workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	w.env = append(p.env(t), "HOME="+w.home)
	if slices.Contains(p.needs, "go") {
		w.env = append(w.env, "GOCACHE="+linkBuildCache(t, filepath.Join(base, "go-build")))
	}
	give(t, r.uid, base)
	w.needs(t, p.needs)
	needTier(t, r.tier, r.uid)

	var s *server
	for i, step := range p.steps {
		if step.tier != "" && step.tier != r.tier {
			continue
		}
		if s == nil || step.again {
			env := append(sandboxed(r.tier), "TIPSTAFF_NETWORK="+r.network,
				"ALLOWED_COMMANDS="+strings.Join(p.programs(), ","), fmt.Sprintf("TIPSTAFF_STATE_DIR=%s/state-%d", w.home, i))
			s = serveAs(t, r.uid, w.workspace, append(env, w.env...))
		}
		if !t.Run(step.sentence, func(t *testing.T) { step.play(t, s) }) {
			t.Fatal("what comes after that is not tried")
		}
		s.wantTier(r.tier)
	}
}

// play runs the commands of a step.
func (st toolStep) play(t *testing.T, s *server) {
	for _, c := range st.commands {
		r := s.command(c.line, args{"timeout_ms": 120_000})
		if b := r.yaml(); r.IsError || b.ExitCode != 0 {
			t.Fatalf("$ %s\n%s", c.line, r.Text)
		} else if c.says != "" && !strings.Contains(b.Stdout, c.says) {
			t.Errorf("$ %s\ndoes not say %q:\n%s", c.line, c.says, r.Text)
		}
	}
}

// needs skips the test unless the user can run the programs, outside of any
// sandbox.
func (w *workplace) needs(t *testing.T, programs []string) {
	t.Helper()
	for _, name := range programs {
		arg := "--version"
		if name == "go" {
			arg = "version"
		}
		cmd := exec.Command("/usr/bin/env", name, arg)
		cmd.Dir, cmd.Env, cmd.SysProcAttr = w.workspace, w.env, credential(w.uid)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("%s is not there, or not for this user: %v: %s", name, err, strings.TrimSpace(string(out)))
		}
	}
}

// linkBuildCache makes a copy of the tester's build cache that costs no space:
// to build the standard library anew takes most of a minute. The files stay the
// tester's; the user of the copy can read them, and write others beside them.
func linkBuildCache(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Skip("the build cache of go: ", err)
	}
	source := strings.TrimSpace(string(out))
	err = filepath.WalkDir(source, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(source, path)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(dir, name), 0o755)
		}
		return os.Link(path, filepath.Join(dir, name))
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) { // somebody else tidies up in it
		t.Log("the build cache cannot be linked, so everything is built: ", err)
	}
	return dir
}
