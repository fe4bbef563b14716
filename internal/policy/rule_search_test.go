package policy_test

import (
	"strings"
	"testing"

	"tipstaff"
	"tipstaff/internal/policy"
)

// TestAPathOfTheCallersLeadsToWhatIsJudged: a program in a directory that commands may
// write is judged by its path, one elsewhere by its name, through wrappers as well.
func TestAPathOfTheCallersLeadsToWhatIsJudged(t *testing.T) {
	p := policy.New(withFile(t, `
version: 1
commands:
  ls|env|timeout|nice|xargs: {allow: ["*"]}
  python3: {allow: ["*"], deny: ["-c"]}
  pytest: {deny: [--evil]}
  .venv/bin/*: {allow: ["*"]}
`))
	for _, c := range []struct {
		says, path, argv string
		file             string // "": it is refused
	}{
		{"a line for the path", "/work/.venv/bin:/usr/bin", "pytest x", "/work/.venv/bin/pytest"},
		{"relative", ".venv/bin", "pytest x", "/work/.venv/bin/pytest"},
		{"a rule for the name holds in a pattern of paths", "/work/.venv/bin", "pytest --evil", ""},
		{"a listed name in front of the server's", "/work/bin:/usr/bin", "ls", ""},
		{"the working directory", ":/usr/bin", "ls", ""},
		{"behind the server's", "/usr/bin:/work/bin", "ls", "/usr/bin/ls"},
		{"a missing directory", "/missing:/usr/bin", "ls", "/usr/bin/ls"},
		{"nowhere", "/missing", "ls", ""},
		{"no directory", "", "ls", ""},
		{"a link to a listed program", "/work/.venv/bin", "python3 x", "/work/.venv/bin/python3"},
		{"such a link under another name", "/work/.venv/bin", "python x", "/work/.venv/bin/python"},
		{"a rule for what it leads to", "/work/.venv/bin", "python -c x", ""},
		{"the same by its path", "/usr/bin", ".venv/bin/python -c x", ""},
		{"the same through a wrapper", "/usr/bin", "timeout 5 .venv/bin/python -c x", ""},
		{"through a wrapper", "/work/.venv/bin:/usr/bin", "timeout 5 pytest x", "/usr/bin/timeout"},
		{"a rule through a wrapper", "/work/.venv/bin:/usr/bin", "timeout 5 nice pytest --evil", ""},
		{"another program through a wrapper", "/work/bin:/usr/bin", "timeout 5 ls", ""},
		{"a PATH in front", "/usr/bin", "env PATH=/work/.venv/bin pytest x", "/usr/bin/env"},
		{"another in front", "/usr/bin", "env PATH=/work/bin ls", ""},
		{"a wrapper with a PATH of its own", "/work/.venv/bin:/usr/bin", "env -i pytest x", ""},
		{"too many directories", strings.Repeat("/x:", 1024) + "/usr/bin", "ls", ""},
	} {
		w := allowing().unset()
		w.files = map[string]string{"/work/.venv/bin/pytest": "", "/work/.venv/bin/python3": "python3", "/work/.venv/bin/python": "python3", "/work/bin/ls": "", "/work/ls": ""}
		d := p.Decide(tipstaff.Request{Family: tipstaff.Execute, Argv: strings.Fields(c.argv), Env: []string{"PATH=" + c.path}}, w)
		g, ok := d.Grant()
		switch {
		case ok != (c.file != ""):
			t.Errorf("%s: %s", c.says, answer(d))
		case ok && (g.Program().Path != c.file || !strings.Contains(strings.Join(g.Env(), "\n"), "PATH="+c.path+"\n")):
			t.Errorf("%s: %+v with %q", c.says, g.Program(), g.Env())
		}
		if ok {
			g.Close()
		}
	}
}

// TestWhatIsLentGoesToNoProgramThatACommandPutOnThePath: git starts ssh by its name. The
// control is the same command with directories of the system.
func TestWhatIsLentGoesToNoProgramThatACommandPutOnThePath(t *testing.T) {
	p := policy.New(withFile(t, `
version: 1
commands:
  env: {allow: ["*"]}
  git: {allow: [{rule: push, credentials: [git]}, status]}
`))
	for argv, want := range map[string]bool{"git push": true, "git status": false} {
		for path, changeable := range map[string]bool{"/usr/bin": false, "/work/bin:/usr/bin": true, "/usr/bin:bin": true, "/usr/bin:": true} {
			d := p.Decide(tipstaff.Request{Family: tipstaff.Execute, Argv: strings.Fields(argv), Env: []string{"PATH=" + path}}, allowing().unset())
			if refused := d.Effect == policy.Deny; refused != (want && changeable) {
				t.Errorf("%s with %s: %s", argv, path, answer(d))
			} else if refused && !strings.Contains(answer(d), `the variable "PATH" is not passed to "git": the policy lends this command git`) {
				t.Errorf("%s", answer(d))
			}
			if g, ok := d.Grant(); ok {
				g.Close()
			}
		}
	}
}

// TestAFunctionOfBashThatHidesAProgramIsRefused, and one that only adds a command passes.
func TestAFunctionOfBashThatHidesAProgramIsRefused(t *testing.T) {
	for name, want := range map[string]bool{"greet": true, "ls": false, "cd": false, "x;y": false, "": false, "a/b": false, "a b": false} {
		w := allowing("env")
		w.missing = []string{"greet", "cd", "x;y", "a b"}
		d := decide(t, w, tipstaff.Request{Family: tipstaff.Execute, Argv: []string{"env"}, Env: []string{"BASH_FUNC_" + name + "%%=() {  :\n}"}})
		if (d.Effect == policy.Allow) != want {
			t.Errorf("%q: %s", name, answer(d))
		}
	}
}
