package policy_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tipstaff/internal/policy"
	"tipstaff/internal/policy/language"
)

var gitCommand = regexp.MustCompile(`(?m)^   ([a-z][\w-]+) `)

// TestEveryCommandOfGitIsDecided: testdata/presets/git-commands.txt has every
// command that git help -a lists, and the parts of git that it does not list,
// with what the presets say of it without options. A command of a newer git
// needs a row. With -update the effects are written; read them.
func TestEveryCommandOfGitIsDecided(t *testing.T) {
	const name = "testdata/presets/git-commands.txt"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p := underPresets(t, slices.DeleteFunc(language.Presets(), func(name string) bool { return name == "packages" }), []string{"git"})
	rows := map[string]bool{}
	var out strings.Builder
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			out.WriteString(line)
			continue
		}
		command := fields[0]
		rows[command] = true
		d := p.Decide(terminal("git", command), allowing().unset())
		got := command + " " + d.Effect.String()
		if d.Effect != policy.Allow {
			got += " " + strings.TrimPrefix(d.Deciding().Rule, "policy/")
		}
		if g, ok := d.Grant(); ok {
			g.Close()
		}
		if got != strings.Join(fields, " ") && !*update {
			t.Errorf("%s, want %s", got, strings.TrimSpace(line))
		}
		fmt.Fprintln(&out, got)
	}
	if *update {
		if err := os.WriteFile(name, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	help, err := exec.Command("git", "help", "-a").Output()
	if err != nil {
		t.Skipf("this machine's git lists no commands: %v", err)
	}
	commands, _, _ := strings.Cut(string(help), "\nUser-facing repository")
	listed := gitCommand.FindAllStringSubmatch(commands, -1)
	if len(listed) < 100 {
		t.Fatalf("git help -a lists %d commands", len(listed))
	}
	for _, m := range listed {
		if !rows[m[1]] {
			t.Errorf("git %s is not decided: give it a row in %s", m[1], name)
		}
	}
}
