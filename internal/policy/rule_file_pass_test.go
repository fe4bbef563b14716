package policy_test

import (
	"slices"
	"strings"
	"testing"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/language"
)

// passing is what an operator may pass on: JAVA_HOME to everything, and to psql
// what opens a data base.
const passing = `
version: 1
environment: {pass: [JAVA_HOME, "MY_*"]}
commands:
  env: {allow: ["*"]}
  psql: {allow: ["*"], environment: {pass: [DATABASE_URL]}}
  mvn: {allow: ["*"], environment: {drop: [MY_OTHER]}}
  timeout: {allow: ["{int} *"]}
`

func withFile(t *testing.T, text string) policy.Settings {
	t.Helper()
	file, err := language.Load([]byte(text), "policy.yaml", fileOptions(nil))
	if err != nil {
		t.Fatal(err)
	}
	s := server()
	s.File = file
	return s
}

// TestAPolicyFilePassesVariablesOn: a caller's and the server's own, to the
// commands that it names, and to every layer or to none.
func TestAPolicyFilePassesVariablesOn(t *testing.T) {
	settings := withFile(t, passing)
	settings.Environment = policy.NewEnvironment([]string{"DATABASE_URL=server", "MY_SECRET=server", "OTHER_SECRET=server", "LD_PRELOAD=server"}, "/usr/bin")
	for _, c := range []struct {
		says string
		argv string
		env  string // of the caller
		want string // of both, what reaches the command
		lost string
	}{
		{"the file's", "env", "JAVA_HOME=/work/jdk MY_HOME=/work/x", "JAVA_HOME=/work/jdk MY_HOME=/work/x MY_SECRET=server", ""},
		{"no others", "env", "JDK_HOME=/work/jdk DATABASE_URL=x", "MY_SECRET=server", "JDK_HOME DATABASE_URL"},
		{"a program's, beside the file's", "psql x", "", "DATABASE_URL=server MY_SECRET=server", ""},
		{"a caller's own comes before the server's", "psql x", "DATABASE_URL=mine MY_SECRET=mine", "DATABASE_URL=mine MY_SECRET=mine", ""},
		{"a wrapper gets it too, so it must be passed to both", "timeout 5 psql x", "DATABASE_URL=mine", "MY_SECRET=server", "DATABASE_URL"},
		{"drop comes after pass", "mvn x", "MY_OTHER=/work/x MY_HOME=/work/x", "MY_HOME=/work/x MY_SECRET=server", "MY_OTHER"},
	} {
		t.Run(c.says, func(t *testing.T) {
			req := terminal(strings.Fields(c.argv)...)
			req.Env = strings.Fields(c.env)
			req.OfSession = req.Env
			d := policy.New(settings).Decide(req, allowing("env", "psql", "mvn", "timeout"))
			grant, ok := d.Grant()
			if !ok {
				t.Fatal(answer(d))
			}
			defer grant.Close()
			var got []string
			for _, v := range grant.Env() {
				if strings.Contains(v, "/work/") || strings.HasSuffix(v, "=server") || strings.HasSuffix(v, "=mine") {
					got = append(got, v)
				}
			}
			if strings.Join(got, " ") != c.want || strings.Join(grant.Dropped(), " ") != c.lost {
				t.Errorf("got %q, dropped %q", got, grant.Dropped())
			}
		})
	}
}

// TestASessionKeepsWhatSomeCommandIsPassed, without telling that it is dropped.
func TestASessionKeepsWhatSomeCommandIsPassed(t *testing.T) {
	p := policy.New(withFile(t, passing))
	s, err := p.AdmitSession(tipstaff.Session{Env: []string{"DATABASE_URL=x", "API_KEY=y", "MY_X=/work"}}, allowing())
	if err != nil || !slices.Equal(s.Env, []string{"DATABASE_URL=x", "MY_X=/work"}) || !slices.Equal(s.Dropped, []string{"API_KEY"}) {
		t.Errorf("%+v, %v", s, err)
	}
}
