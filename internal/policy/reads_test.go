package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tipstaff/internal/policy"
	"tipstaff/internal/policy/language"
)

// TestDiagnosisLooksAndChangesNothing: a block list of verbs let through what it
// did not name: psql -c 'call p()', docker image prune, git reflog expire. Under
// the policy of the page no change runs, and all but a few looks do. With * in
// the place of {reads}, and without presets, the changes run.
func TestDiagnosisLooksAndChangesNothing(t *testing.T) {
	_, _, file := readPolicy(t, "testdata/operators/diagnosis.txtar")
	reads := serverWith(file)
	text, err := os.ReadFile("testdata/operators/diagnosis.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, open, _ := strings.Cut(string(text), "-- policy.yaml --\n")
	open, _, _ = strings.Cut(open, "tests:\n")
	loose, err := language.Load([]byte(strings.NewReplacer(`"{reads}"`, `"*"`, "[preset:net, preset:remote]", "[]").Replace(open)), "policy.yaml", fileOptions(nil))
	if err != nil {
		t.Fatal(err)
	}
	control := serverWith(loose)
	changes, ran := 0, 0
	for _, line := range linesOf(t, "changes") {
		changes++
		if effect, rule := decideLine(t, reads, onFeature(), "-", line); effect == "allow" {
			t.Errorf("%s runs by %s", line, rule)
		}
		if effect, _ := decideLine(t, control, onFeature(), "-", line); effect == "allow" {
			ran++
		}
	}
	if ran < changes/2 {
		t.Errorf("the control lets only %d of %d changes run", ran, changes)
	}
	looks, stopped := 0, 0
	for _, line := range linesOf(t, "looks") {
		looks++
		if effect, rule := decideLine(t, reads, onFeature(), "-", line); effect != "allow" {
			t.Logf("%s is %s by %s: %s", line, effect, rule, told(t, reads, "-", line))
			stopped++
		}
	}
	t.Logf("%d changes, of which the control runs %d; %d of %d looks are stopped", changes, ran, stopped, looks)
	if stopped*20 > looks || changes < 80 || looks < 150 {
		t.Errorf("%d of %d looks are stopped", stopped, looks)
	}
}

func linesOf(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/looks", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func serverWith(file *language.Policy) *policy.Policy {
	s := server()
	s.File = file
	return policy.New(s)
}
