package audit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"tipstaff"
	"tipstaff/internal/audit"
	"tipstaff/internal/exit"
	"tipstaff/internal/tty"
)

// audited runs a subcommand of audit on a trail with these records, and returns
// what it prints and how it ends.
func audited(t *testing.T, width string, records []audit.Record, args ...string) (out, talk string, code int) {
	t.Helper()
	trail, err := audit.Create(t.TempDir(), audit.Options{})
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
	return ask(t, width, append(args, trail.Path())...)
}

// ask runs a subcommand of audit.
func ask(t *testing.T, width string, args ...string) (out, talk string, code int) {
	t.Helper()
	t.Setenv("COLUMNS", width)
	cmd := New()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	var stdout, stderr bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	var e *exit.Error
	if errors.As(err, &e) {
		code = e.Code
	} else if err != nil {
		code = exit.Usage
	}
	if err != nil {
		stderr.WriteString(err.Error())
	}
	return stdout.String(), stderr.String(), code
}

func command(argv ...string) audit.Record {
	return audit.Record{
		Event: audit.CommandEnd, Who: audit.Who{Agent: "größter Agent der Welt"}, What: audit.What{Argv: argv},
		Result: &audit.Result{Cause: "exited", ExitCode: 3, DurationMS: 1500},
	}
}

func TestTheCommandsOfAScriptStandBelowIt(t *testing.T) {
	of := func(e audit.Event, w audit.What, parent tipstaff.RequestID) audit.Record {
		r := audit.Record{Event: e, What: w, Trace: audit.Trace{Parent: parent}}
		if e == audit.CommandEnd {
			r.Result = &audit.Result{Cause: "exited", ExitCode: 3, DurationMS: 5}
		}
		return r
	}
	script := audit.What{Script: "seq 3 |\n sort -r; rm x"}
	seq, rm := audit.What{Argv: []string{"seq", "3"}}, audit.What{Argv: []string{"rm", "x"}}
	out, talk, code := audited(t, "200", []audit.Record{
		of(audit.CommandStart, script, ""),
		of(audit.CommandStart, seq, "cmd_s"),
		of(audit.CommandEnd, seq, "cmd_s"),
		of(audit.CommandRefused, rm, "cmd_s"),
		of(audit.CommandEnd, script, ""),
		of(audit.CommandEnd, audit.What{Argv: []string{"alone"}}, ""),
	}, "show")
	if code != exit.OK || talk != "" {
		t.Fatal(code, talk)
	}
	var got []string
	for line := range strings.Lines(out) {
		words := strings.SplitN(strings.TrimSpace(line), "  ", 2)
		rest := strings.Join(strings.Fields(words[1]), " ")
		got = append(got, rest[strings.Index(rest, " ")+1:])
	}
	want := []string{
		"EVENT OUTCOME WHO COMMAND",
		`command.start seq 3 |\n sort -r; rm x`,
		"command.start └ seq 3",
		"command.end exit 3, 5ms └ seq 3",
		"command.refused └ rm x",
		`command.end exit 3, 5ms seq 3 |\n sort -r; rm x`,
		"command.end exit 3, 5ms alone",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestATableFitsTheScreenWhateverStandsInIt(t *testing.T) {
	records := []audit.Record{
		{Event: audit.ServerStart},
		command("echo", strings.Repeat("long ", 100)),
		command("echo", strings.Repeat("日本語", 60)),
		command("echo", "\x1b[31mred\u009b31m\u202e\r\n\t", strings.Repeat("\u0301", 50)),
		{Event: audit.CommandRefused, Code: "DIRECTORY_NOT_ALLOWED_" + "AND_LONGER", What: audit.What{Line: "a | \x07b"}, Why: "no"},
		{Event: audit.SessionClose, Why: "idle"},
	}
	for width, columns := range map[string]int{"20": 60, "80": 80, "120": 120, "200": 200} {
		out, talk, code := audited(t, width, records, "show")
		if code != exit.OK || talk != "" {
			t.Fatal(code, talk)
		}
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if len(lines) != len(records)+1 {
			t.Errorf("%s columns: %d lines", width, len(lines))
		}
		for _, line := range lines {
			if n := tty.Columns(line); n > columns {
				t.Errorf("%s columns: %d in %q", width, n, line)
			}
			if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
				t.Errorf("%q does not print", line[i:])
			}
		}
	}
}

func TestWhatIsNoTerminalIsNotCut(t *testing.T) {
	long := strings.Repeat("long ", 100)
	out, _, _ := audited(t, "", []audit.Record{command("echo", long)}, "search")
	if !strings.Contains(out, "echo '"+long+"'") || strings.Contains(out, "\x1b") {
		t.Errorf("got %q", out)
	}
}

func TestATrailThatOthersWroteDoesNotReachTheTerminal(t *testing.T) {
	dir := t.TempDir()
	line := "{\"v\":1,\"seq\":1,\"time\":\"2026-01-02T03:04:05Z\",\"event\":\"command.\u009b31m\",\"who\":{\"agent\":\"\u202e\x7f\"},\"what\":{\"argv\":[\"\u009b2J\"]},\"why\":\"\u0085\"}\n"
	if err := os.WriteFile(filepath.Join(dir, "000001.jsonl"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"show"}, {"search"}, {"stats"}, {"stats", "--json"}, {"show", "--seq", "1"}, {"export", "--format", "ocsf"}} {
		out, _, code := ask(t, "120", append(args, dir)...)
		bare := strings.ReplaceAll(out, "\n", "")
		if i := strings.IndexFunc(bare, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 || code != exit.OK || bare == "" {
			t.Errorf("%v exits with %d and prints %q", args, code, out)
		}
	}
	if out, _, _ := ask(t, "", "export", dir); out != line {
		t.Errorf("the raw line became %q", out)
	}
}

func TestFlagsThatCannotBeUnderstoodTeach(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"search", "--since", "yesterday"}, "2h, 7d"},
		{[]string{"search", "--since", "1h", "--until", "2h"}, "nothing lies between"},
		{[]string{"search", "--exit", "zero"}, "'!=0'"},
		{[]string{"search", "--cmd", "*"}, "npm*"},
		{[]string{"search", "--agent", ""}, "leave it out"},
		{[]string{"search", "-n", "0"}, "at least 1"},
		{[]string{"show", "-n", "-1"}, "at least 1"},
		{[]string{"show", "--seq", "0"}, "from 1"},
		{[]string{"show", "--seq", "1", "--follow"}, "seq"},
		{[]string{"export", "--format", "xml"}, "jsonl or ocsf"},
		{[]string{"export", "--format", "csv"}, "| jq -r '[.time, .event, .who.agent, .what.argv[0]] | @csv'"},
		{[]string{"stats", "a", "b"}, "at most 1"},
	} {
		if out, talk, code := ask(t, "", c.args...); code != exit.Usage || !strings.Contains(talk, c.want) || out != "" {
			t.Errorf("%v exits with %d: %s%s", c.args, code, out, talk)
		}
	}
}

func TestNothingFoundIsSaidAndNoFailure(t *testing.T) {
	records := []audit.Record{{Event: audit.ServerStart}}
	for _, args := range [][]string{{"search", "--agent", "x"}, {"search", "-n", "3", "--denied"}, {"show", "--code", "x"}, {"stats", "--denied"}, {"export", "--denied"}} {
		if _, talk, code := audited(t, "", records, args...); code != exit.OK || talk != "Nothing found.\n" {
			t.Errorf("%v exits with %d: %s", args, code, talk)
		}
	}
	if _, talk, _ := audited(t, "", records, "search", "--event", "comand.end"); !strings.Contains(talk, "command.end, command.refused") {
		t.Errorf("a slip of the keys is not told: %s", talk)
	}
	if out, talk, code := audited(t, "", records, "show", "--seq", "9"); code != exit.OK || out != "" || !strings.Contains(talk, "no such record 9") {
		t.Errorf("show --seq 9 exits with %d: %s%s", code, out, talk)
	}
}

func TestFollowShowsWhatComesUntilItIsInterrupted(t *testing.T) {
	trail, err := audit.Create(t.TempDir(), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer trail.Close()
	if err := trail.Append(command("echo", "first")); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancelCause(t.Context())
	shown, stdout := io.Pipe()
	cmd := New()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(stdout)
	cmd.SetErr(io.Discard)
	cmd.SetArgs([]string{"show", "--follow", "--json", trail.Path()})
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	lines := bufio.NewScanner(shown)
	for _, word := range []string{"first", "second"} {
		if !lines.Scan() || !strings.Contains(lines.Text(), word) {
			t.Fatalf("instead of the %s record: %q", word, lines.Text())
		}
		if word == "first" {
			if err := trail.Append(command("echo", "second")); err != nil {
				t.Fatal(err)
			}
		}
	}
	interrupt(exit.ErrInterrupted)
	var e *exit.Error
	if err := <-ended; !errors.As(err, &e) || e.Code != exit.Interrupted {
		t.Errorf("it ends with %v", err)
	}
}

func TestTextIsCutByColumnsNotByBytes(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"plain", 5, "plain"}, {"plain", 4, "pla…"}, {"größe", 5, "größe"}, {"größe", 3, "gr…"},
		{"日本語", 6, "日本語"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"日本語", 1, "…"},
		{"e\u0301te", 3, "e\u0301te"}, {"👍👍", 3, "👍…"}, {"", 1, ""},
	} {
		if got := tty.Cut(c.text, c.columns); got != c.want || tty.Columns(got) > c.columns {
			t.Errorf("%q in %d columns: %q", c.text, c.columns, got)
		}
		if got := tty.Columns(tty.Fit(c.text, c.columns)); got != c.columns {
			t.Errorf("%q fills %d of %d columns", c.text, got, c.columns)
		}
	}
}

func TestSizesAreToldInUnitsOfAThousand(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1000: "1 kB", 1234567: "1.2 MB", 5e12: "5 TB"} {
		if got := tty.Bytes(n); got != want {
			t.Errorf("%d is told as %s, want %s", n, got, want)
		}
	}
}
