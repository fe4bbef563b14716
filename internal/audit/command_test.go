package audit

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestTheChainCanBeCheckedWithoutTipstaff runs the commands of the package
// comment as they stand there.
func TestTheChainCanBeCheckedWithoutTipstaff(t *testing.T) {
	for _, tool := range []string{"bash", "sed", "sha256sum", "jq", "diff"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for line := range strings.Lines(string(doc)) {
		if command, ok := strings.CutPrefix(line, "//\t"); ok {
			commands = append(commands, strings.TrimSpace(command))
		}
	}
	if len(commands) != 3 {
		t.Fatalf("the package comment has %d commands, want 3", len(commands))
	}
	trail := create(t, Options{})
	appendAll(t, trail, Record{Event: CommandStart, What: What{Argv: []string{"\u202e", "\x7f", "漢", `\`, "%s", "a  b ", "\xff"}}})
	appendAll(t, trail, oneOfEach()...)
	run := func(command string) (string, error) {
		cmd := exec.Command("bash", "-c", command)
		cmd.Dir = trail.Path()
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	computed, err1 := run(commands[0])
	written, err2 := run(commands[1])
	if err1 != nil || err2 != nil || computed != written || strings.Count(written, "\n") != 11 {
		t.Errorf("%s: %v\n%s\n%s: %v\n%s", commands[0], err1, computed, commands[1], err2, written)
	}
	if out, err := run(commands[2]); err != nil {
		t.Errorf("%s: %v\n%s", commands[2], err, out)
	}
}
