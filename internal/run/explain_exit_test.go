//go:build linux

package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tipstaff"
)

// TestExitsAreExplained: real programs and shells, and what is said of how they
// ended; "" is nothing.
func TestExitsAreExplained(t *testing.T) {
	b := newBench(t)
	if err := os.WriteFile(filepath.Join(b.dir, "script"), []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		says string
		argv []string
		code int
		want string
	}{
		{"success", []string{"sh", "-c", "echo fine"}, 0, ""},
		{"a failure of the program's own", []string{"sh", "-c", "exit 3"}, 3, ""},
		{"a slip in a script of dash", []string{"sh", "-c", "gerp x"}, 127, `127 usually means that a program was not found, here perhaps "gerp". Did you mean "grep"?`},
		{"a slip in a script of bash", []string{"bash", "-c", "slepe 1"}, 127, `127 usually means that a program was not found, here perhaps "slepe". Did you mean "sleep"?`},
		{"nothing is near", []string{"sh", "-c", "qqqqqqxyzzy"}, 127, `127 usually means that a program was not found, here perhaps "qqqqqqxyzzy".`},
		{"a path", []string{"sh", "-c", "./no/such"}, 127, `127 usually means that a program was not found, here perhaps "./no/such".`},
		{"env", []string{"env", "slepe"}, 127, `127 usually means that a program was not found, here perhaps "slepe". Did you mean "sleep"?`},
		{"127 without a word", []string{"sh", "-c", "exit 127"}, 127, "127 usually means that the program could not find another one that it wanted to run."},
		{"no right to execute", []string{"sh", "-c", "./script"}, 126, `126 usually means that a program may not be executed, here perhaps "./script".`},
		{"126 without a word", []string{"sh", "-c", "exit 126"}, 126, "126 usually means"},
		{"a child died by a signal", []string{"sh", "-c", "sh -c 'kill -SEGV $$'; exit $?"}, 139, "139 is 128+11: a program that it ran was ended by SIGSEGV, which tipstaff did not send."},
		{"a code above 128 that no signal has", []string{"sh", "-c", "exit 200"}, 200, ""},
		{"grep found nothing", []string{"grep", "no-such-word", "script"}, 1, "grep exits with 1 when nothing matched; that is no error."},
		{"grep failed", []string{"grep", "x", "no-such-file"}, 2, ""},
		{"files differ", []string{"cmp", "-s", "script", "/dev/null"}, 1, "cmp exits with 1 when the two differ; that is no error."},
		{"a program that asks", []string{"python3", "-c", "input()"}, 1, "It may have asked for input, and there was none"},
		{"a program that wants a terminal", []string{"sh", "-c", "echo 'the input device is not a TTY' >&2; exit 1"}, 1, "It may want a terminal"},
	} {
		r := b.run(argv(c.argv...))
		said := strings.Join(r.Notes, " ")
		if r.ExitCode != c.code || !strings.HasPrefix(said, c.want) || c.want == "" && said != "" {
			t.Errorf("%s: exit %d, %q, want %q; %s", c.says, r.ExitCode, said, c.want, r.Stderr.Head)
		}
	}
}

func TestWhatACommandLeftBehindIsSaidToBeEnded(t *testing.T) {
	b := newBench(t)
	const ended = "was ended: nothing outlives its command."
	for _, c := range []struct {
		script, want string
	}{
		{"true", ""},
		{"sleep 0 & wait", ""},
		{"sleep 60 &", "A process that the command had left behind " + ended},
		{"sleep 60 & sleep 60 &", "2 processes that the command had left behind were ended: nothing outlives its command."},
		{"setsid sleep 60 & exit 3", "A process that the command had left behind " + ended},
	} {
		r := b.run(argv("sh", "-c", c.script))
		if said := strings.Join(r.Notes, " "); said != c.want {
			t.Errorf("%q: %q, want %q", c.script, said, c.want)
		}
	}
	late := argv("sh", "-c", "sleep 60 & sleep 60")
	late.Timeout = 200 * time.Millisecond
	if r := b.run(late); r.Cause != tipstaff.TimedOut || len(r.Notes) > 0 {
		t.Errorf("at a timeout: %v, %q", r.Cause, r.Notes)
	}
}
