package doctor

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/audit/sink"
	"tipstaff/internal/fleet/replicate"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/decider"
	"tipstaff/internal/policy/facts"
	"tipstaff/internal/policy/load"
	"tipstaff/internal/protected"
)

var doubtful = load.Fault{File: "/p.yaml", Line: 7, Message: "never decides\n", Hint: "remove it"}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// machine has a program named tool, and nothing else.
func machine(t *testing.T, allowed, roots string) *facts.Host {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "tool"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return facts.New(facts.Options{Path: bin, AllowedCommands: policy.ParseAllowlist(allowed, "ALLOWED_COMMANDS"), Roots: facts.ParseRoots(roots)})
}

func TestThePolicyIsLookedAtAsAServerWould(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string { return write(t, filepath.Join(dir, name), "version: 1\n"+text) }
	good := file("good.yaml", "extends: [preset:git]\nroots: ["+dir+"]\ncommands:\n  tool: {allow: [\"*\"]}\n  gone: {allow: [x]}\n  /opt/gone: {allow: [x]}\ntests:\n  - {run: tool, expect: allow}\n")
	for says, c := range map[string]struct {
		file, allowed, roots string
		right                func(p *Policy, f *load.File) bool
	}{
		"no file and no list": {"", "", "", func(p *Policy, f *load.File) bool {
			return p.Programs == 0 && f.Policy == nil && p.Missing == nil
		}},
		"a list": {"", "tool,gone", dir, func(p *Policy, _ *load.File) bool {
			return p.Programs == 2 && slices.Equal(p.Missing, []string{"gone"}) && len(p.Roots) == 1 && p.RootsError == ""
		}},
		"roots that are gone": {"", "tool", "/no/such/directory", func(p *Policy, _ *load.File) bool { return strings.Contains(p.RootsError, "/no/such/directory") }},
		"a file": {good, "", "", func(p *Policy, f *load.File) bool {
			return p.Programs == 3 && slices.Equal(p.Missing, []string{"gone"}) && p.SHA256 == f.Digest && p.Tests == 1 && p.Rules == f.Rules() && slices.Equal(p.Presets, []string{"preset:git"}) && slices.Equal(p.Roots, []string{dir}) && p.RootsError == ""
		}},
		"a root of the file that is gone": {file("root.yaml", "roots: ["+dir+"/none]\n"), "", "", func(p *Policy, _ *load.File) bool {
			return strings.HasSuffix(p.RootsError, "root.yaml:2: there is no directory "+dir+"/none")
		}},
		"a root that is a file": {file("root2.yaml", "roots: ["+good+"]\n"), "", "", func(p *Policy, _ *load.File) bool {
			return strings.Contains(p.RootsError, "root2.yaml:2: ")
		}},
		"a doubtful file": {file("doubt.yaml", "commands:\n  bash: {allow: [\"*\"]}\n"), "", "", func(p *Policy, _ *load.File) bool { return len(p.Doubts) > 0 && p.Error == "" }},
		"a file that is wrong": {file("bad.yaml", "comands: {}\n"), "", "", func(p *Policy, f *load.File) bool {
			return strings.Contains(p.Error, "comands") && f.Policy == nil
		}},
		"a test of it fails": {file("test.yaml", "tests:\n  - {run: tool, expect: allow}\n"), "", "", func(p *Policy, f *load.File) bool {
			return strings.Contains(p.Error, "1 of its tests fail") && f.Policy == nil
		}},
		"a file that is not there": {filepath.Join(dir, "nothing.yaml"), "", "", func(p *Policy, _ *load.File) bool { return strings.Contains(p.Error, "no such file") }},
	} {
		p, f := ExaminePolicy(t.Context(), PolicyOptions{File: c.file, From: "--config", Trails: filepath.Join(dir, "none"), Host: machine(t, c.allowed, c.roots)})
		if !c.right(&p, &f) || p.File != c.file || p.From != "--config" || p.Servers != nil {
			t.Errorf("%s: %+v", says, p)
		}
	}
}

// served writes the trail of a server that is, or was, process pid.
func served(t *testing.T, dir string, pid int, records ...audit.Record) {
	t.Helper()
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
	parts := strings.Split(filepath.Base(trail.Path()), "-")
	parts[1] = fmt.Sprint(pid)
	if to := filepath.Join(dir, strings.Join(parts, "-")); to != trail.Path() {
		if err := os.Rename(trail.Path(), to); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRunningServersSayByWhatTheyDecide: those that run, and no others.
func TestRunningServersSayByWhatTheyDecide(t *testing.T) {
	policy := func(event audit.Event, outcome, sum, old, fault string) audit.Record {
		return audit.Record{Event: event, Error: fault, Policy: &audit.Policy{Outcome: outcome, File: "/p.yaml", SHA256: sum, OldSHA256: old}}
	}
	start := policy(audit.ServerStart, audit.PolicyLoaded, "one", "", "")
	reload := policy(audit.PolicyReload, audit.PolicyLoaded, "two", "one", "")
	refused := policy(audit.PolicyReload, audit.PolicyRefused, "", "two", "line 3")
	ended := exec.CommandContext(t.Context(), "true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	alive := os.Getppid()
	for says, c := range map[string]struct {
		pid     int
		records []audit.Record
		want    *Server
	}{
		"as it started":           {alive, []audit.Record{start}, &Server{SHA256: "one"}},
		"after a reload":          {alive, []audit.Record{start, reload}, &Server{SHA256: "two"}},
		"one file was refused":    {alive, []audit.Record{start, reload, refused}, &Server{SHA256: "two", Refused: "line 3"}},
		"and mended":              {alive, []audit.Record{start, refused, reload}, &Server{SHA256: "two"}},
		"without a policy file":   {alive, []audit.Record{{Event: audit.ServerStart}}, nil},
		"it has stopped":          {alive, []audit.Record{start, {Event: audit.ServerStop}}, nil},
		"its process has ended":   {ended.Process.Pid, []audit.Record{start}, nil},
		"it is this very process": {os.Getpid(), []audit.Record{start}, nil},
	} {
		dir := t.TempDir()
		served(t, dir, c.pid, c.records...)
		found := examineServers(t.Context(), dir)
		switch {
		case c.want == nil && len(found) > 0, c.want != nil && len(found) != 1:
			t.Errorf("%s: %+v", says, found)
		case c.want != nil && (found[0].SHA256 != c.want.SHA256 || found[0].Refused != c.want.Refused || found[0].PID != c.pid || found[0].File != "/p.yaml" || found[0].Since.IsZero()):
			t.Errorf("%s: %+v", says, found[0])
		}
	}
}

// TestTheRecordIsTriedAndNothingStays: faults are found before a server meets
// them.
func TestTheRecordIsTriedAndNothingStays(t *testing.T) {
	none := func() ([]sink.Sink, error) { return nil, nil }
	dir := t.TempDir()
	file := write(t, filepath.Join(t.TempDir(), "file"), "x")
	for says, c := range map[string]struct {
		o             RecordOptions
		error, advice string
	}{
		"all is well":                {RecordOptions{Dir: dir, Durability: "interval", Sinks: none}, "", ""},
		"the first server makes it":  {RecordOptions{Dir: filepath.Join(dir, "none"), Durability: "strict", Sinks: none, Recordings: true}, "", ""},
		"an unknown durability":      {RecordOptions{Dir: dir, Durability: "never", Sinks: none}, "TIPSTAFF_AUDIT_DURABILITY: ", "no server starts with this setting"},
		"sinks that cannot be made":  {RecordOptions{Dir: dir, Durability: "interval", Sinks: func() ([]sink.Sink, error) { return nil, errors.New("stdout is the protocol's") }}, "stdout is the protocol's", "no server starts with this setting"},
		"a file where it is to be":   {RecordOptions{Dir: filepath.Join(file, "audit"), Durability: "interval", Sinks: none}, "not a directory", "make the directory writable for this user, or set TIPSTAFF_STATE_DIR to one that is"},
		"a directory that is a file": {RecordOptions{Dir: file, Durability: "interval", Sinks: none}, "not a directory", "make the directory writable for this user, or set TIPSTAFF_STATE_DIR to one that is"},
	} {
		r := ExamineRecord(t.Context(), c.o)
		if (r.Error == "") != (c.error == "") || !strings.Contains(r.Error, c.error) || r.advice != c.advice || r.Key != "" || r.Dir != c.o.Dir || r.Recordings != c.o.Recordings {
			t.Errorf("%s: %+v", says, r)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestTheKeyOfTheRecordIsTold(t *testing.T) {
	dir := t.TempDir()
	trail, err := audit.Create(dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := trail.Close(); err != nil {
		t.Fatal(err)
	}
	r := ExamineRecord(t.Context(), RecordOptions{Dir: dir, Durability: "interval", Sinks: func() ([]sink.Sink, error) { return nil, nil }})
	if r.Error != "" || r.Key != trail.Key().Public {
		t.Errorf("%+v", r)
	}
}

func TestWhatIsNotCopiedYetIsCounted(t *testing.T) {
	dir := t.TempDir()
	o := RecordOptions{Dir: dir, Durability: "interval", CopiesTo: "nats://a:4222", CopiesStrict: true, Sinks: func() ([]sink.Sink, error) { return nil, nil }}
	texts := func() string {
		r := ExamineRecord(t.Context(), o)
		var all strings.Builder
		for _, f := range r.findings() {
			all.WriteString(f.Text + strings.Join(f.Notes, " ") + "\n")
		}
		return all.String()
	}
	if got := texts(); !strings.Contains(got, "copied to the streams of nats://a:4222; no command starts before its record is there, to the last byte") {
		t.Error(got)
	}
	trail := filepath.Join(dir, "20260102T030406Z-1-00000000")
	if err := os.MkdirAll(trail, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"000001.jsonl": "0123456789", replicate.StateFile: `{"name":"r1","position":{"bytes":4,"segment":1,"offset":4},"error":"no such stream"}`} {
		if err := os.WriteFile(filepath.Join(trail, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := texts(); !strings.Contains(got, "6 bytes of 1 trails are not there yet, and copying failed last: 20260102T030406Z-1-00000000: no such stream") {
		t.Error(got)
	}
	o.CopiesTo = ""
	if got := texts(); strings.Contains(got, "copied") {
		t.Error(got)
	}
}

// TestSinksAreReachedAndADeadOneIsNoFault, because no command waits for it.
func TestSinksAreReachedAndADeadOneIsNoFault(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "log")
	var stderr strings.Builder
	r := ExamineRecord(t.Context(), RecordOptions{Dir: t.TempDir(), Durability: "interval", Sinks: func() ([]sink.Sink, error) {
		return sink.Parse(sink.Settings{Sinks: "stderr,syslog://" + socket, Stderr: &stderr})
	}})
	if r.Error != "" || len(r.Sinks) != 2 || r.Sinks[0].Error != "" || !strings.Contains(r.Sinks[1].Error, "no such file") || stderr.Len() > 0 {
		t.Errorf("%+v, %s", r, stderr.String())
	}
}

// TestTheDeciderIsAskedAboutACommandThatRunsNowhere, and any answer is
// reported.
func TestTheDeciderIsAskedAboutACommandThatRunsNowhere(t *testing.T) {
	for says, c := range map[string]struct {
		answer      string
		code        int
		want        Decider
		error, note string
	}{
		"it allows":          {`{"result": true}`, 200, Decider{Answer: "allow"}, "", ""},
		"it denies":          {`{"result": {"allow": false, "reason": "frozen"}}`, 200, Decider{Answer: "deny", Said: "the operator's decider does not allow this command: frozen"}, "", ""},
		"it says nothing":    {`{}`, 200, Decider{Answer: "deny"}, "", "undefined"},
		"it is broken":       {`oops`, 500, Decider{}, "500", ""},
		"it speaks nonsense": {`{"result": 7}`, 200, Decider{}, "not understood", ""},
	} {
		asked := ""
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b := make([]byte, 4096)
			n, _ := r.Body.Read(b)
			asked = string(b[:n])
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(c.code)
			_, _ = w.Write([]byte(c.answer))
		}))
		client, err := decider.New(decider.Options{URL: s.URL + "/v1/data/x", Timeout: 8 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		d := ExamineDecider(t.Context(), client)
		client.Close()
		s.Close()
		if d.Address == "" || d.Took <= 0 || d.Answer != c.want.Answer || c.want.Said != "" && d.Said != c.want.Said || (d.Error == "") != (c.error == "") || !strings.Contains(d.Error, c.error) || (d.Note == "") != (c.note == "") || !strings.Contains(d.Note, c.note) {
			t.Errorf("%s: %+v", says, d)
		}
		if !strings.Contains(asked, `["true"]`) || !strings.Contains(asked, "doctor") {
			t.Errorf("%s: asked %s", says, asked)
		}
	}
	if d := ExamineDecider(t.Context(), nil); d != nil || d.findings() != nil {
		t.Errorf("without one: %+v", d)
	}
}

func TestFilesInTheOpenAreListed(t *testing.T) {
	dir := t.TempDir()
	k := protected.New([]protected.File{{Path: write(t, filepath.Join(dir, "p.yaml"), "x"), Setting: "TIPSTAFF_CONFIG", Kind: protected.Steering}}, "restart", nil)
	defer k.Close()
	if list := ExposedOf(k, protected.Confinement{}); list == nil || len(list) > 0 || ExposedFindings(list) != nil {
		t.Errorf("before commands may write there: %+v", list)
	}
	k.AddWritable([]string{dir}, false, protected.Confinement{})
	list := ExposedOf(k, protected.Confinement{})
	if len(list) != 1 || list[0].File != filepath.Join(dir, "p.yaml") || list[0].Setting != "TIPSTAFF_CONFIG" || list[0].Why == "" {
		t.Errorf("%+v", list)
	}
}
