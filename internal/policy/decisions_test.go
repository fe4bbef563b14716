package policy_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tipstaff"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/language"
)

var update = flag.Bool("update", false, "fill in rules and lines of testdata/decisions; effects stay")

// TestDecisions: policies and commands, each with its decision, the deciding
// rule and its line.
func TestDecisions(t *testing.T) {
	names, err := filepath.Glob("testdata/decisions/*.txtar")
	if err != nil || len(names) < 5 {
		t.Fatal(names, err)
	}
	total := 0
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) { total += decisions(t, name) })
	}
	if total < 150 {
		t.Errorf("only %d decisions", total)
	}
	t.Logf("%d decisions", total)
}

// readPolicy reads an archive, of which one file is the policy.
func readPolicy(t *testing.T, name string) (a *txtar.Archive, files map[string]string, file *language.Policy) {
	t.Helper()
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for _, f := range a.Files {
		files[f.Name] = string(f.Data)
	}
	file, err = language.Load([]byte(files["policy.yaml"]), "policy.yaml", fileOptions(files))
	if err != nil {
		t.Fatal(err)
	}
	return a, files, file
}

func decisions(t *testing.T, name string) int {
	a, files, file := readPolicy(t, name)
	s := server()
	s.File = file
	p := policy.New(s)
	w := unlisted()
	w.links = map[string]string{"/work/out": "/etc"}
	w.git = onBranch("feature/x")
	var out strings.Builder
	n := 0
	for line := range strings.Lines(files["decisions"]) {
		line = strings.TrimSuffix(line, "\n")
		n++
		want := strings.SplitN(line, " ", 3)
		who, place := want[1], ""
		command := want[2]
		if at, rest, ok := strings.Cut(command, "\t"); ok {
			place, command = at, rest
		}
		got, rule := decideLine(t, p, w, who, command)
		if got != want[0] {
			t.Errorf("%s: %s by %s", line, got, rule)
		}
		if !*update && rule != place {
			t.Errorf("%s: decided by %s", line, rule)
		}
		fmt.Fprintf(&out, "%s %s %s\t%s\n", want[0], who, rule, command)
	}
	if *update && !t.Failed() {
		for i := range a.Files {
			if a.Files[i].Name == "decisions" {
				a.Files[i].Data = []byte(out.String())
			}
		}
		if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// decideLine decides one command for the caller of who, which is - or
// agent=…,task=…, in which \s is a blank.
func decideLine(t *testing.T, p *policy.Policy, w *fakeWorld, who, command string) (effect, rule string) {
	t.Helper()
	d := decisionOf(t, p, w, who, command)
	f := d.Deciding()
	at := f.At
	if strings.HasPrefix(at, "preset:") {
		at = at[:strings.LastIndexByte(at, ':')] // lines of presets move
	}
	return d.Effect.String(), strings.TrimPrefix(f.Rule, "policy/") + "@" + at
}

func decisionOf(t *testing.T, p *policy.Policy, w *fakeWorld, who, command string) policy.Decision {
	t.Helper()
	req := tipstaff.Request{Family: tipstaff.Execute}
	if who != "-" {
		for part := range strings.SplitSeq(who, ",") {
			key, value, _ := strings.Cut(part, "=")
			value = strings.ReplaceAll(value, `\s`, " ")
			switch key {
			case "agent":
				req.Origin.Agent = value
			case "task":
				req.Origin.Task = value
			case "client":
				req.Origin.Client = value
			case "principal":
				req.Origin.Principal = value
			default:
				t.Fatalf("%q is no caller", who)
			}
		}
	}
	words, err := cmdline.Split(strings.ReplaceAll(strings.ReplaceAll(command, " ;", ` ';'`), "{}", `'{}'`))
	if err != nil {
		t.Fatal(err)
	}
	req.Argv = words
	d := p.Decide(req, w)
	if g, ok := d.Grant(); ok {
		g.Close()
	}
	return d
}
