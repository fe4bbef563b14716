//go:build linux

package run

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/output/capture"
	"tipstaff/internal/policy"
	"tipstaff/internal/proc"
	"tipstaff/internal/testing/testcmd/testcmdtest"
	"tipstaff/internal/testing/testworld"
)

var oneEngine = sync.OnceValues(func() (*proc.Engine, error) { return proc.NewEngine(proc.Options{}) })

// bench decides with the real policy about real files.
type bench struct {
	t      *testing.T
	policy *policy.Policy
	world  testworld.Machine
	dir    string
	local  Local
}

func newBench(t *testing.T) *bench {
	t.Helper()
	bin := t.TempDir()
	if err := os.Symlink(testcmdtest.Build(t), filepath.Join(bin, "testcmd")); err != nil {
		t.Fatal(err)
	}
	engine, err := oneEngine()
	if err != nil {
		t.Fatal(err)
	}
	path := []string{bin, "/usr/bin", "/bin"}
	return &bench{t: t, local: Local{Engine: engine, Sandbox: unconfined{}}, world: testworld.Machine{Path: path}, dir: t.TempDir(), policy: policy.New(policy.Settings{
		Limits:      map[tipstaff.Family]policy.FamilyLimits{tipstaff.Execute: {DefaultTimeout: 20 * time.Second, OutputBytes: 10_000}},
		Environment: policy.NewEnvironment(nil, strings.Join(path, ":")),
	})}
}

func (b *bench) grant(req tipstaff.Request) *policy.Grant {
	b.t.Helper()
	req.Family, req.Dir, req.DirGiven = tipstaff.Execute, b.dir, true
	d := b.policy.Decide(req, b.world)
	g, ok := d.Grant()
	if !ok {
		b.t.Fatalf("not granted: %v", d.Refusal())
	}
	return g
}

func (b *bench) run(req tipstaff.Request) tipstaff.Result {
	b.t.Helper()
	g := b.grant(req)
	r, err := b.local.Run(b.t.Context(), g, Live{})
	if err != nil {
		b.t.Fatal(err)
	}
	g.Close()
	return r
}

func argv(words ...string) tipstaff.Request { return tipstaff.Request{Argv: words} }

func output(s tipstaff.Stream) string { return string(s.Head) + string(s.Tail) }

func TestARunTellsHowItEnded(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		argv   []string
		cause  tipstaff.Cause
		code   int
		signal string
	}{
		{[]string{"testcmd", "exit", "0"}, tipstaff.Exited, 0, ""},
		{[]string{"testcmd", "exit", "255"}, tipstaff.Exited, 255, ""},
		{[]string{"testcmd", "signal", "KILL"}, tipstaff.Signalled, 137, "SIGKILL"},
		{[]string{"testcmd", "signal", "TERM"}, tipstaff.Signalled, 143, "SIGTERM"},
	} {
		r := b.run(argv(c.argv...))
		if r.Cause != c.cause || r.ExitCode != c.code || r.Signal != c.signal || r.Limit != 20*time.Second {
			t.Errorf("%q: %v %d %q", c.argv, r.Cause, r.ExitCode, r.Signal)
		}
	}
}

func TestStartedIsToldOnceAndOnlyWhenSomethingRuns(t *testing.T) {
	b := newBench(t)
	n := 0
	live := Live{Observer: Observer{Started: func() { n++ }}}
	if _, err := b.local.Run(t.Context(), b.grant(argv("true")), live); err != nil || n != 1 {
		t.Errorf("told %d times, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.local.Run(ctx, b.grant(argv("true")), live); err == nil || n != 1 {
		t.Errorf("a cancelled call: told %d times, %v", n, err)
	}
}

func TestT5OutputIsBoundedAndCounted(t *testing.T) {
	r := newBench(t).run(argv("testcmd", "flood", "5000000", "both"))
	if r.Stdout.Total() != 5_000_000 || r.Stderr.Total() != 5_000_000 || !r.Truncated() {
		t.Errorf("counted %d and %d bytes", r.Stdout.Total(), r.Stderr.Total())
	}
	if n := len(output(r.Stdout)) + len(output(r.Stderr)); n > 2*capture.Room(10_000) || r.Bound != 10_000 {
		t.Errorf("kept %d bytes for a bound of %d", n, r.Bound)
	}
}

func TestA12InputReachesTheProgram(t *testing.T) {
	b := newBench(t)
	big := strings.Repeat("line\n", 1000)
	if got := output(b.run(tipstaff.Request{Argv: []string{"testcmd", "cat"}, Stdin: []byte(big)}).Stdout); got != big {
		t.Errorf("%d bytes came back as %d", len(big), len(got))
	}
	for _, c := range [][]string{{"true"}, {"testcmd", "slowread", "50"}} { // neither reads it
		if r := b.run(tipstaff.Request{Argv: c, Stdin: make([]byte, 10<<20)}); r.ExitCode != 0 {
			t.Errorf("%q: %d", c, r.ExitCode)
		}
	}
}

func TestT3NobodyElseHoldsUpTheResult(t *testing.T) {
	b := newBench(t)
	for _, program := range [][]string{
		{"testcmd", "hold"},
		{"testcmd", "daemon", "keep"},
		{"sh", "-c", "sleep 30 &"},
	} {
		if r := b.promptly(time.Second, argv(program...)); r.Cause != tipstaff.Exited {
			t.Errorf("%q ended as %v", program, r.Cause)
		}
	}
}

// promptly runs a command, which is to take no longer than limit: on a busy machine once
// in three times.
func (b *bench) promptly(limit time.Duration, req tipstaff.Request) (r tipstaff.Result) {
	b.t.Helper()
	var all []time.Duration
	for range 3 {
		began := time.Now()
		r = b.run(req)
		all = append(all, time.Since(began))
		if all[len(all)-1] <= limit {
			return r
		}
	}
	b.t.Errorf("%q took %v, more than %v", req.Argv, all, limit)
	return r
}

// outlived runs a command until its time is up, and again with more of it unless the
// program had come to what is tested: on a busy machine it may not have begun by then.
func (b *bench) outlived(req tipstaff.Request, come func(r tipstaff.Result) bool) (r tipstaff.Result) {
	b.t.Helper()
	for _, req.Timeout = range []time.Duration{req.Timeout, 4 * time.Second, 16 * time.Second} {
		if r = b.run(req); come(r) {
			break
		}
	}
	return r
}

func ready(r tipstaff.Result) bool { return strings.HasPrefix(output(r.Stdout), "ready") }

func TestT6TimeoutsAndCancellationsEndTheGroup(t *testing.T) {
	b := newBench(t)
	r := b.outlived(tipstaff.Request{Argv: []string{"testcmd", "term-print"}, Timeout: 300 * time.Millisecond}, func(r tipstaff.Result) bool {
		return r.Signal == "" && ready(r) // nor may it be too slow to end by itself
	})
	if r.Cause != tipstaff.TimedOut || r.ExitCode != 124 || output(r.Stdout) != "ready\nterminated\n" {
		t.Errorf("%v %d %q", r.Cause, r.ExitCode, output(r.Stdout))
	}
	r = b.promptly(1300*time.Millisecond, tipstaff.Request{Argv: []string{"testcmd", "ignore"}, Timeout: 300 * time.Millisecond})
	if !ready(r) {
		r = b.outlived(tipstaff.Request{Argv: []string{"testcmd", "ignore"}, Timeout: time.Second}, ready)
	}
	if r.Cause != tipstaff.TimedOut || r.Signal != "SIGKILL" {
		t.Errorf("a program that ignores signals: %v %q", r.Cause, r.Signal)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := b.local.Run(ctx, b.grant(argv("sleep", "60")), Live{Observer: Observer{Started: cancel}})
	if err != nil || r.Cause != tipstaff.Cancelled {
		t.Errorf("cancelled: %v, %v", r.Cause, err)
	}
}

func TestAReplacedProgramDoesNotStart(t *testing.T) {
	b := newBench(t)
	tool := filepath.Join(b.dir, "tool")
	write := func(content string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(tool+".new", []byte(content), 0o755), os.Rename(tool+".new", tool)); err != nil {
			t.Fatal(err)
		}
	}
	write("#!/bin/sh\necho first\n")
	g := b.grant(argv("./tool"))
	write("#!/bin/sh\necho second\n")
	_, err := b.local.Run(t.Context(), g, Live{})
	if e := tipstaff.AsError(err); err == nil || e.Code != tipstaff.ExecutionError || !strings.Contains(e.Msg, "replaced") {
		t.Errorf("%v", err)
	}
	if got := output(b.run(argv("./tool")).Stdout); got != "second\n" {
		t.Errorf("judged anew it said %q", got)
	}
}

func TestWhatCannotStartSaysWhy(t *testing.T) {
	b := newBench(t)
	for name, content := range map[string]string{"text": "no program", "script": "#!/no/such/interpreter\n"} {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]tipstaff.Code{"./text": tipstaff.ProgramNotExecutable, "./script": tipstaff.ProgramNotFound} {
		_, err := b.local.Run(t.Context(), b.grant(argv(name)), Live{})
		e := tipstaff.AsError(err)
		if e.Code != want || e.Hint == "" || strings.Contains(e.Msg+e.Hint, b.dir) {
			t.Errorf("%s: %s %q %q", name, e.Code, e.Msg, e.Hint)
		}
	}
}

func TestARunLeavesNoDescriptorBehind(t *testing.T) {
	b := newBench(t)
	b.run(argv("true"))
	count := func() int { return testcmdtest.Descriptors(t) }
	before := count()
	const runs = 50
	for i := range runs {
		switch i % 3 {
		case 0:
			b.run(tipstaff.Request{Argv: []string{"cat"}, Stdin: []byte("x")})
		case 1:
			b.run(tipstaff.Request{Argv: []string{"sleep", "30"}, Timeout: 20 * time.Millisecond})
		case 2:
			b.grant(argv("testcmd")).Close() // granted and not used
		}
	}
	// The engine prepares for the next command after the call.
	if after := count(); after-before > runs/5 {
		t.Errorf("%d descriptors became %d", before, after)
	}
}

func TestTheCommandSeesOnlyItsOwnDescriptors(t *testing.T) {
	proc.Seal()
	b := newBench(t)
	var fds map[string]string
	if err := json.Unmarshal([]byte(output(b.run(argv("testcmd", "fds")).Stdout)), &fds); err != nil {
		t.Fatal(err)
	}
	if len(fds) != 3 {
		t.Errorf("open are %v", fds)
	}
}
