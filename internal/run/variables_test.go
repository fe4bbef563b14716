//go:build linux

package run

import (
	"strings"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/policy"
)

// TestAVariableThatWasKeptBackIsExplainedWhereAProgramMissesIt: here a shell
// complains, as any program may.
func TestAVariableThatWasKeptBackIsExplainedWhereAProgramMissesIt(t *testing.T) {
	b := newBench(t)
	server := []string{"OPENAI_API_KEY=sk-1", "SHOWN=1", "PATH=/usr/bin"}
	environment := policy.NewEnvironment(server, "/usr/bin:/bin")
	b.policy = policy.New(policy.Settings{
		Limits:      map[tipstaff.Family]policy.FamilyLimits{tipstaff.Execute: {DefaultTimeout: 20 * time.Second, OutputBytes: 10_000}},
		Environment: environment,
	})
	b.local.Hidden = environment.Hidden()
	const (
		own     = "The server's own variable OPENAI_API_KEY is kept from commands. If the task needs it, ask the operator for environment: {pass: [OPENAI_API_KEY]}"
		dropped = "The variable GITHUB_TOKEN was dropped from what you gave"
	)
	held := []string{"GITHUB_TOKEN=ghp_1", "LD_PRELOAD=/x.so"}
	for _, c := range []struct{ says, script, want string }{
		{"the server's own", "echo ${OPENAI_API_KEY?is not set}", own},
		{"as Python has it", `echo "KeyError: 'OPENAI_API_KEY'" >&2; exit 1`, own},
		{"on the other output", "echo 'missing OPENAI_API_KEY'; exit 1", own},
		{"the caller's", "set -u; echo $GITHUB_TOKEN", dropped},
		{"it succeeds and complains", `echo "warning: GITHUB_TOKEN is required for this" >&2`, dropped},
		{"what no policy can pass on", "echo ${LD_PRELOAD?is not set}", "The variable LD_PRELOAD was dropped"},

		{"a name that is longer", "echo MY_GITHUB_TOKEN_2 is not set >&2; exit 1", ""},
		{"a name without a complaint", "echo GITHUB_TOKEN=x >&2; exit 1", ""},
		{"a text that it was to print", "echo GITHUB_TOKEN is required", ""},
		{"a variable that is there", "echo SHOWN is not set >&2; exit 1", ""},
		{"one that nobody has", "echo ${DATABASE_URL?is not set}", ""},
	} {
		r := b.run(tipstaff.Request{Argv: []string{"sh", "-c", c.script}, Env: held, OfSession: held})
		said := strings.Join(r.Refusals, "\n")
		if !strings.Contains(said, c.want) || c.want == "" && said != "" {
			t.Errorf("%s: of %q and %q is said %q", c.says, r.Stdout.Head, r.Stderr.Head, said)
		}
		if strings.Contains(said, "LD_PRELOAD") && strings.Contains(said, "ask the operator") {
			t.Errorf("it advises what no policy can do: %q", said)
		}
	}
}

// TestAVariableThatASessionDroppedIsExplained, even if that was several calls
// before.
func TestAVariableThatASessionDroppedIsExplained(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		says, script string
		env          []string
		want         string
	}{
		{"it is missed", "echo ${GITHUB_TOKEN?is not set}", nil, "The variable GITHUB_TOKEN was dropped from what you gave"},
		{"it is not missed", "exit 1", nil, ""},
		{"the command has it", "echo PAGE_SIZE is not set >&2; exit 1", []string{"PAGE_SIZE=4"}, ""},
	} {
		r := b.run(tipstaff.Request{Argv: []string{"sh", "-c", c.script}, Env: c.env, Dropped: []string{"GITHUB_TOKEN", "PAGE_SIZE"}})
		said := strings.Join(r.Refusals, "\n")
		if !strings.Contains(said, c.want) || c.want == "" && said != "" {
			t.Errorf("%s: said %q", c.says, said)
		}
	}
}

func TestAVariableThatAPolicyPassesOnIsNotExplained(t *testing.T) {
	b := newBench(t)
	b.local.Hidden = []string{"PWD"} // which every command has
	if r := b.run(argv("sh", "-c", "echo PWD is not set >&2; exit 1")); len(r.Refusals) > 0 {
		t.Errorf("said %q", r.Refusals)
	}
}
