//go:build linux && !race

package e2e

import (
	"strings"
	"testing"

	"tipstaff/e2e/kit"
)

// TestWhatAnAnswerCutsIsFoundByGrep: a test run of 40 MB of which one line matters.
func TestWhatAnAnswerCutsIsFoundByGrep(t *testing.T) {
	t.Parallel()
	s := start(t, setup{env: append(kit.Sandboxed(kit.Namespaces), "ALLOWED_COMMANDS=python3", "TIPSTAFF_ANSWER_BYTES=8192")})
	const prints = `
import sys
for i in range(500000):
    sys.stdout.write("ok   test number %d with a name that is long enough to be one of a test suite\n" % i)
    if i == 123456:
        sys.stdout.write("FAIL the one that matters\n")
`
	r := s.Process("python3", []string{"-c", prints}, kit.Args{"timeout_ms": 120_000})
	if !strings.Contains(r.Text, "read_output {") || strings.Contains(r.Text, "FAIL") || len(r.Text) > 9000 {
		t.Fatalf("%d bytes: %.300s", len(r.Text), r.Text)
	}
	first := ran(t, r)
	found := about(s, "read_output", first.CommandID, kit.Args{"grep": "^FAIL", "context": 1})
	want := "ok   test number 123456 with"
	if found.Matched != 1 || !strings.HasPrefix(found.Output, want) || !strings.Contains(found.Output, "FAIL the one that matters\nok   test number 123457") {
		t.Errorf("found %+v", found)
	}
	tail := about(s, "read_output", first.CommandID, kit.Args{"tail": 2})
	if strings.Count(tail.Output, "\n") != 2 || !strings.Contains(tail.Output, "number 499999") || tail.State != "exited" {
		t.Errorf("its end: %+v", tail)
	}
	part := about(s, "read_output", first.CommandID, kit.Args{"offset": 0, "limit": 1000})
	if len(part.Output) > 1000 || !strings.HasPrefix(part.Output, "ok   test number 0") || part.NextOffset == 0 {
		t.Errorf("its beginning: %+v", part)
	}
}
