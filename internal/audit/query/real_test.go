package query

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/audit"
)

// began is when the trails of the tests begin.
func began() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// write makes a real trail of records in dir, whose clock goes on by step
// before each record, and returns its directory.
func write(t testing.TB, dir string, start time.Time, step time.Duration, records ...audit.Record) string {
	t.Helper()
	var mu sync.Mutex // a trail may read its clock at any time
	now := start
	clock := func(step time.Duration) time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(step)
		return now
	}
	trail, err := audit.Create(dir, audit.Options{OSUser: "bob", Clock: func() time.Time { return clock(0) }})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		clock(step)
		if err := trail.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := trail.Close(); err != nil {
		t.Fatal(err)
	}
	return trail.Path()
}

// some are n records as a server writes them, the same ones for the same seed.
func some(seed uint64, n int) []audit.Record {
	random := rand.New(rand.NewPCG(seed, 1)) // the same every time
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	records := []audit.Record{{Event: audit.ServerStart}}
	for len(records) < n {
		who := audit.Who{
			Front: "stdio", Principal: pick("local", "uid:1000"), Client: "client/1.0",
			Agent: pick("", "planner", "reviewer", "größe", `say "hi"`, `back\slash`), Task: pick("", "t-1", "t-2"),
			Session: tipstaff.SessionID(pick("", "s-1", "s-2")),
		}
		r := audit.Record{
			Event: audit.CommandStart, Who: who,
			Trace:    audit.Trace{CommandID: tipstaff.RequestID(fmt.Sprint("cmd_", len(records)))},
			What:     audit.What{Tool: "execute_command", Cwd: "/work", File: "/usr/bin/git"},
			Decision: audit.Decision{Action: "allow", Rule: "allowlist", At: "ALLOWED_COMMANDS"},
			Sandbox:  audit.Sandbox{Tier: "namespaces", Profile: "workspace", Network: "on"},
		}
		r.What.Argv = []string{pick("git", "/usr/bin/git", "npm", "node"), pick("push", "log", "a b", "x\ny", "\u200b", `"exit_code":0`, "npm-run", "exit_code"), pick("--force", ".refused", "=1+1", "deny", "日本")}
		switch random.IntN(8) {
		case 0:
			r.Event, r.Code, r.Decision.Action, r.Why = audit.CommandRefused, tipstaff.CommandNotAllowed, "deny", `"rm" is not allowed`
		case 1:
			r.Event, r.Code, r.What.Argv, r.What.Line = audit.CommandRefused, tipstaff.InvalidCommandLine, nil, pick(`git "log`, "npm | cat", `'git'`)
		case 2:
			r.Event, r.Code, r.Error = audit.CommandError, tipstaff.ExecutionError, "fork: no memory"
		case 3:
			r = audit.Record{Event: audit.SessionRefused, Code: tipstaff.DirectoryNotAllowed, Who: who, Decision: audit.Decision{Action: "deny"}}
		default:
			records = append(records, r)
			r.Event = audit.CommandEnd
			r.Result = &audit.Result{
				Cause: pick("exited", "exited", "exited", "timed_out"), ExitCode: []int{0, 0, 1, 10, 124}[random.IntN(5)],
				DurationMS: random.Int64N(1000), StdoutBytes: random.Int64N(5000),
			}
		}
		records = append(records, r)
	}
	return records[:n]
}

// split cuts the one segment of a trail into several, at line ends.
func split(t testing.TB, trail string, segments int) {
	t.Helper()
	all := contents(t, trail)
	lines := bytes.SplitAfter(all, []byte("\n"))
	each := len(lines)/segments + 1
	for i := range segments {
		from, to := min(i*each, len(lines)), min((i+1)*each, len(lines))
		put(t, filepath.Join(trail, fmt.Sprintf("%06d.jsonl", i+1)), slices.Concat(lines[from:to]...))
	}
}

// contents are all segments of a trail together.
func contents(t testing.TB, trail string) []byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(trail, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return all
}

func put(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func find(t testing.TB, path string) []Trail {
	t.Helper()
	trails, err := Find(path)
	if err != nil {
		t.Fatal(err)
	}
	return trails
}

// read returns the lines that f wants, as text.
func read(t testing.TB, trails []Trail, f *Filter) ([]string, ReadStats) {
	t.Helper()
	var got []string
	tally, err := Read(t.Context(), trails, f, func(l *Line) error {
		got = append(got, string(l.Raw))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, tally
}

func last(t testing.TB, trails []Trail, f *Filter, n int) ([]string, ReadStats) {
	t.Helper()
	found, tally, err := Last(t.Context(), trails, f, n)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range found {
		got = append(got, string(found[i].Raw))
	}
	return got, tally
}

// naiveDecode decodes a line by encoding/json.
func naiveDecode(line []byte, r *audit.Record) error {
	*r = audit.Record{}
	if err := json.Unmarshal(line, r); err != nil {
		return err
	}
	if r.Seq == 0 || r.Event == "" || r.Time.IsZero() {
		return errNoRecord
	}
	return nil
}

// entry is a line and what it says.
type entry struct {
	line   string
	record audit.Record
}

// entries are all records of all trails, in order of time, as a look at every
// line gives them.
func entries(trails ...[]byte) []entry {
	var all []entry
	for _, text := range trails {
		for line := range bytes.SplitAfterSeq(text, []byte("\n")) {
			whole, ended := bytes.CutSuffix(line, []byte("\n"))
			e := entry{line: string(whole)}
			if ended && naiveDecode(whole, &e.record) == nil {
				all = append(all, e)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.record.Time.Compare(b.record.Time) })
	return all
}

// naive returns the lines that f wants.
func naive(all []entry, f *Filter) []string {
	var got []string
	for i := range all {
		if f.Match(&all[i].record) {
			got = append(got, all[i].line)
		}
	}
	return got
}
