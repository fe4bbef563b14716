package policydiff

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/audit/query"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/language"
)

// file reads a policy.
func file(t *testing.T, name, text string) *language.Policy {
	t.Helper()
	p, err := language.Load([]byte("version: 1\n"+text), name, language.Options{Split: cmdline.Split, Names: policy.ReadNames, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// asked is the record of a command: the decision at the time, and its words.
func asked(effect, cwd string, words ...string) audit.Record {
	r := audit.Record{
		Event: audit.CommandStart, What: audit.What{Argv: words, Cwd: cwd},
		Decision: audit.Decision{Action: effect, Rule: "policy/then", At: "then.yaml:1"},
	}
	if effect != "allow" {
		r.Event = audit.CommandRefused
	}
	return r
}

// compare notes records from a real trail.
func compare(t *testing.T, old, new *language.Policy, records ...audit.Record) *Result {
	t.Helper()
	dir := t.TempDir()
	trail, err := audit.Create(dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := trail.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := trail.Close(); err != nil {
		t.Fatal(err)
	}
	trails, err := query.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := New(old, new)
	if _, err := query.Read(t.Context(), trails, &query.Filter{}, c.Note); err != nil {
		t.Fatal(err)
	}
	return c.Result()
}

// lines are the differences, one a line.
func lines(r *Result) string {
	var b strings.Builder
	for _, d := range r.Differ {
		for _, part := range []string{strings.Join(d.Command, " "), ":", d.Old.Effect, "by", d.Old.Rule, "→", d.New.Effect, "by", d.New.Rule} {
			b.WriteString(part + " ")
		}
		b.WriteString(strings.Repeat("#", int(d.Count)) + "\n")
	}
	return b.String()
}

func TestWhatTwoFilesDecideDifferentlyIsListedOnce(t *testing.T) {
	old := file(t, "old.yaml", "commands:\n  echo: {allow: [\"*\"]}\n  git: {allow: [status, push]}\n")
	new := file(t, "new.yaml", "commands:\n  echo: {allow: [\"*\"], ask: [one]}\n  git: {allow: [status], deny: [push]}\n  ls: {allow: [\"*\"]}\n")
	r := compare(t, old, new,
		audit.Record{Event: audit.ServerStart},
		asked("allow", "/w", "echo", "one"), asked("allow", "/elsewhere", "echo", "one"), asked("allow", "/w", "echo", "one"),
		asked("allow", "/w", "echo", "two"), asked("allow", "/w", "git", "status"), asked("allow", "/w", "git", "push"),
		asked("deny", "/w", "ls"), asked("deny", "/w", "ls"), asked("deny", "/w", "rm", "-rf", "/"),
		audit.Record{Event: audit.CommandEnd, What: audit.What{Argv: []string{"ls"}}},
		audit.Record{Event: audit.CommandRefused},
	)
	want := `echo one : allow by policy/echo/allow → ask by policy/echo/ask ###
ls : deny by policy/default → allow by policy/ls/allow ##
git push : allow by policy/git/allow → deny by policy/git/deny #
`
	if got := lines(r); got != want {
		t.Errorf("%swant\n%s", got, want)
	}
	if r.Commands != 9 || r.Skipped != 1 || r.Hidden != 0 {
		t.Errorf("%+v", r)
	}
	if at := r.Differ[0].New.At; at != "new.yaml:3" || r.Differ[0].Last.IsZero() {
		t.Errorf("%s, %v", at, r.Differ[0].Last)
	}
	for _, same := range []*language.Policy{old, new} {
		if r := compare(t, same, same, asked("allow", "/w", "echo", "one"), asked("deny", "/w", "rm")); len(r.Differ) > 0 || r.Commands != 2 {
			t.Errorf("with itself: %s", lines(r))
		}
	}
}

// TestWithoutAnOldFileTheRecordSaysWhatWasDecided, which may have changed meanwhile.
func TestWithoutAnOldFileTheRecordSaysWhatWasDecided(t *testing.T) {
	new := file(t, "new.yaml", "commands:\n  echo: {allow: [\"*\"], ask: [one]}\n")
	r := compare(t, nil, new, asked("allow", "/w", "echo", "one"), asked("ask", "/w", "echo", "one"), asked("", "/w", "echo", "x"), asked("allow", "/w", "rm"), asked("deny", "/w", "rm"))
	want := `echo one : allow by policy/then → ask by policy/echo/ask #
echo x : deny by policy/then → allow by policy/echo/allow #
rm : allow by policy/then → deny by policy/default #
`
	if got := lines(r); got != want {
		t.Errorf("%swant\n%s", got, want)
	}
	if at := r.Differ[0].Old.At; at != "then.yaml:1" {
		t.Error(at)
	}
}

// TestWhereARecordedCommandRanCounts, by the text of its paths.
func TestWhereARecordedCommandRanCounts(t *testing.T) {
	all := file(t, "all.yaml", "commands:\n  cat: {allow: [\"*\"]}\n")
	for says, c := range map[string]struct {
		text, cwd string
		words     []string
		differs   bool
	}{
		"a directory inside of the roots":     {"roots: [/w]\ncommands:\n  cat: {allow: [\"*\"]}\n", "/w/a", []string{"cat", "x"}, false},
		"a directory outside of them":         {"roots: [/w]\ncommands:\n  cat: {allow: [\"*\"]}\n", "/v", []string{"cat", "x"}, true},
		"one that only begins like a root":    {"roots: [/w]\ncommands:\n  cat: {allow: [\"*\"]}\n", "/ww", []string{"cat", "x"}, true},
		"a file below the directory":          {"commands:\n  cat: {allow: [\"*\"], paths: inside-roots}\n", "/w/a", []string{"cat", "x/y"}, false},
		"a file that climbs out of it":        {"commands:\n  cat: {allow: [\"*\"], paths: inside-roots}\n", "/w/a", []string{"cat", "../y"}, true},
		"a file that climbs within the roots": {"roots: [/w]\ncommands:\n  cat: {allow: [\"*\"], paths: inside-roots}\n", "/w/a", []string{"cat", "../y"}, false},
		"a file elsewhere":                    {"commands:\n  cat: {allow: [\"*\"], paths: inside-roots}\n", "/w/a", []string{"cat", "/etc/passwd"}, true},
		"an unknown directory":                {"commands:\n  cat: {allow: [\"*\"], paths: inside-roots}\n", "", []string{"cat", "../y"}, true},
		"a program by its path":               {"commands:\n  cat: {allow: [\"*\"]}\n", "/w", []string{"/usr/bin/cat", "x"}, false},
		"a program that no rule names":        {"commands:\n  dog: {allow: [\"*\"]}\n", "/w", []string{"/usr/bin/cat", "x"}, true},
	} {
		r := compare(t, all, file(t, "new.yaml", c.text), asked("allow", c.cwd, c.words...))
		if differs := len(r.Differ) == 1; differs != c.differs || differs && (r.Differ[0].Old.Effect != "allow" || r.Differ[0].New.Effect != "deny") {
			t.Errorf("%s: %s", says, lines(r))
		}
	}
}

// TestProfilesJudgeTheirCallers: the same command of two agents is decided twice.
func TestProfilesJudgeTheirCallers(t *testing.T) {
	old := file(t, "old.yaml", "commands:\n  echo: {allow: [\"*\"]}\n")
	new := file(t, "new.yaml", "commands:\n  echo: {allow: [\"*\"]}\nprofiles:\n  review:\n    match: {agent: [\"review-*\"]}\n    deny: [echo *]\n")
	ours, theirs := asked("allow", "/w", "echo", "x"), asked("allow", "/w", "echo", "x")
	theirs.Who.Agent = "review-1"
	r := compare(t, old, new, ours, theirs, ours)
	if len(r.Differ) != 1 || r.Differ[0].Count != 1 || r.Commands != 3 {
		t.Errorf("%s", lines(r))
	}
}

// TestWhatIsHiddenInTheRecordIsMarked, because a rule about it may decide
// differently.
func TestWhatIsHiddenInTheRecordIsMarked(t *testing.T) {
	old := file(t, "old.yaml", "commands:\n  echo: {allow: [\"*\", --password *]}\n")
	r := compare(t, old, file(t, "new.yaml", "commands: {}\n"),
		asked("allow", "/w", "echo", "--password", "<redacted:password>"), asked("allow", "/w", "echo", "long…[+9000 bytes]"), asked("allow", "/w", "echo", "plain"))
	if r.Hidden != 2 || len(r.Differ) != 3 {
		t.Fatalf("%+v", r)
	}
	for _, d := range r.Differ {
		if d.Hidden == slices.Contains(d.Command, "plain") {
			t.Errorf("%+v", d)
		}
	}
}

func TestNothingIsAnEmptyListForPrograms(t *testing.T) {
	text, err := json.Marshal(New(nil, file(t, "new.yaml", "commands: {}\n")).Result())
	if err != nil || string(text) != `{"commands":0,"skipped":0,"hidden":0,"differ":[]}` {
		t.Errorf("%s, %v", text, err)
	}
}
