package policy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tipstaff/internal/policy"
	"tipstaff/internal/policy/language"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// executed is a form of testdata/presets/executed.jsonl.
type executed struct {
	Does  string   // runs a program, reads a file, or writes one, outside of the workspace
	Argv  []string // {E} is the program, {S} the file to read, {O} the file to write
	Needs string   // a file that must contain this text: name=text
	Stdin string
	First [][]string // what is run before
}

// TestWhatFormsDoIsShown runs forms for real in a directory of its own: each
// starts a program, or reads or writes a file elsewhere, and a policy that
// extends the presets refuses it or asks. A program that the machine does not
// have is skipped by name.
func TestWhatFormsDoIsShown(t *testing.T) {
	data, err := os.ReadFile("testdata/presets/executed.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var forms []executed
	programs := []string{"evil"}
	for line := range strings.Lines(string(data)) {
		var f executed
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		forms, programs = append(forms, f), append(programs, f.Argv[0])
	}
	p := underPresets(t, slices.DeleteFunc(language.Presets(), func(name string) bool { return name == "packages" }), programs)
	var shown atomic.Int32
	t.Cleanup(func() { t.Logf("%d of %d forms were shown", shown.Load(), len(forms)) })
	for i, f := range forms {
		t.Run(fmt.Sprintf("%s %d", f.Argv[0], i), func(t *testing.T) {
			t.Parallel()
			w := allowing().unset()
			w.files = map[string]string{"/work/evil": ""}
			if d := p.Decide(terminal(f.fill("./evil", "/outside/secret", "/outside/out")...), w); d.Effect == policy.Allow {
				t.Errorf("the policy allows %q", f.Argv)
			}
			if _, err := exec.LookPath(f.Argv[0]); err != nil {
				t.Skipf("this machine has no %s", f.Argv[0])
			}
			f.show(t)
			shown.Add(1)
		})
	}
}

func (f *executed) fill(program, secret, out string) []string {
	words := make([]string, len(f.Argv))
	for i, word := range f.Argv {
		words[i] = strings.NewReplacer("{E}", program, "{S}", secret, "{O}", out).Replace(word)
	}
	return words
}

// show runs the form and looks for its effect.
func (f *executed) show(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	mark, secret, out := filepath.Join(other, "mark"), filepath.Join(other, "secret"), filepath.Join(other, "out")
	testcmdtest.WriteProgram(t, filepath.Join(dir, "evil"), "#!/bin/sh\n: > "+mark+"\nexit 0\n")
	for path, text := range map[string]string{secret: "a-secret\n", filepath.Join(dir, "f"): "x\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, first := range f.First {
		f.run(t, dir, first)
	}
	if name, text, ok := strings.Cut(f.Needs, "="); ok {
		testcmdtest.WriteProgram(t, filepath.Join(dir, name), strings.ReplaceAll(text, "{E}", "./evil"))
	}
	output := f.run(t, dir, f.fill("./evil", secret, out))
	done := false
	switch f.Does {
	case "runs":
		_, err := os.Stat(mark)
		done = err == nil
	case "writes":
		_, err := os.Stat(out)
		done = err == nil
	case "reads":
		done = strings.Contains(output, "a-secret")
	}
	if !done {
		t.Errorf("%q %s nothing here; it said: %.300q", f.Argv, f.Does, output)
	}
}

// run runs a command with no more than a second's patience for its children.
func (f *executed) run(t *testing.T, dir string, words []string) string {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(f.Stdin)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH") + ":" + dir, "HOME=" + dir, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "TERM=dumb",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.test", "PYENV_ROOT=" + os.Getenv("PYENV_ROOT"),
	}
	if words[0] == "python3" {
		cmd.Env = append(cmd.Env, "HOME="+os.Getenv("HOME"))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	_ = cmd.Run() // many fail after what they do
	return out.String()
}
