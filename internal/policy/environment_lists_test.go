package policy_test

import (
	"os"
	"strings"
	"testing"

	"tipstaff"
	"tipstaff/internal/policy"
)

// variable is a row of testdata/environment.
type variable struct{ name, value, why string }

func (v variable) String() string { return v.name + "=" + v.value }

func variables(t *testing.T, file string) []variable {
	t.Helper()
	data, err := os.ReadFile("testdata/environment/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var all []variable
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, "\n"); line == "" || line[0] == '#' {
			continue
		}
		i := strings.LastIndex(line, "  ")
		name, value, ok := strings.Cut(line[:max(i, 0)], "=")
		if !ok {
			t.Fatalf("%s: %q", file, line)
		}
		all = append(all, variable{name, strings.ReplaceAll(value, `\n`, "\n"), line[i+2:]})
	}
	return all
}

// reaches reports whether a caller's variable reaches a command in /work, and
// what a caller of a session with it is told if it does not.
func reaches(t *testing.T, s policy.Settings, v variable) (reached bool, told []string) {
	t.Helper()
	w, p := allowing("env"), policy.New(s)
	d := p.Decide(tipstaff.Request{Family: tipstaff.Terminal, Argv: []string{"env"}, Env: []string{v.String()}, OfSession: []string{v.String()}}, w)
	grant, ok := d.Grant()
	if !ok {
		t.Fatal(answer(d))
	}
	defer grant.Close()
	session, err := p.AdmitSession(tipstaff.Session{Env: []string{v.String()}}, w)
	if err != nil {
		t.Fatal(err)
	}
	return len(grant.Dropped()) == 0, session.DroppedWhy
}

// TestB11NothingLeadsProgramsToCode: variables that would make programs load or
// run files which commands have written are dropped, with a reason.
func TestB11NothingLeadsProgramsToCode(t *testing.T) {
	for _, v := range variables(t, "code.txt") {
		reached, told := reaches(t, server(), v)
		switch {
		case reached:
			t.Errorf("%s reaches a command: %s", v, v.why)
		case len(told) != 1 || !strings.HasPrefix(told[0], v.name+" was dropped: ") || strings.Contains(told[0], "dropped: ;") || !strings.HasSuffix(told[0], "."):
			t.Errorf("%s: %q", v, told)
		}
	}
}

// TestB11HonestVariablesPass: what work needs reaches commands.
func TestB11HonestVariablesPass(t *testing.T) {
	for _, v := range variables(t, "honest.txt") {
		if reached, told := reaches(t, server(), v); !reached {
			t.Errorf("%s (%s): %q", v, v.why, told)
		}
	}
}

// TestB11TheReasonSaysWhatToDo: it names the variable, what is wrong and what
// to do instead, if there is something.
func TestB11TheReasonSaysWhatToDo(t *testing.T) {
	const ask = "; if the task needs it, ask the operator for environment: {pass: [NAME]} in the policy."
	for _, c := range []struct{ v, want string }{
		{"FOO_HOME=x", "its name says that programs look there for code or for their configuration" + ask},
		{"FOO_EDITOR=vi", "its name says that it names a program, and that program would be started" + ask},
		{"FOO_OPTS=--x=y", "its name says that it holds options of a program, which can name code" + ask},
		{"FOO=$(x)", "its value holds a command that make and shells would run" + ask},
		{"API_KEY=x", "its name promises a secret" + ask},
		{"GIT_SSH=x", "git starts programs, or finds its configuration and its repository, by it" + ask},
		{"LD_PRELOAD=x", "the loader obeys it, so that code would run before the program's own."},
		{"PATH=/x", "programs find other programs, their settings or their temporary files by it, and the server sets it itself."},
		{"TIPSTAFF_X=1", "it is the server's own configuration."},
	} {
		name, value, _ := strings.Cut(c.v, "=")
		_, told := reaches(t, server(), variable{name: name, value: value})
		want := name + " was dropped: " + strings.ReplaceAll(c.want, "NAME", name)
		if len(told) != 1 || told[0] != want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.v, told, want)
		}
	}
}
