package reload

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/policy/language"
	"tipstaff/internal/policy/load"
)

const (
	first  = "version: 1\ncommands:\n  echo: {allow: [\"*\"]}\n"
	second = "version: 1\nextends: [preset:git]\ncommands:\n  bash: {allow: [\"*\"]}\n  ls: {allow: [\"*\"]}\n"
)

// server is the user of a Reloader, and remembers what it was told.
type server struct {
	t    *testing.T
	path string
	r    *Reloader
	log  bytes.Buffer

	records []audit.Record
	full    error // of the trail
	decided []string
	cannot  error // the error of prepare
	read    []load.File
	others  int
	may     bool
}

func (s *server) Append(r audit.Record) error { s.records = append(s.records, r); return s.full }

func (s *server) MayReread(paths ...string) bool {
	if !slices.Contains(paths, s.path) {
		s.t.Errorf("asked for %q", paths)
	}
	return s.may
}

// prepare remembers digests in the order in which they took effect.
func (s *server) prepare(file *language.Policy) (func(), error) {
	if s.cannot != nil {
		return nil, s.cannot
	}
	return func() { s.decided = append(s.decided, file.Digest) }, nil
}

func (s *server) write(text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// last gives the newest record, and fails if there are not n.
func (s *server) last(n int) audit.Record {
	s.t.Helper()
	if len(s.records) != n {
		s.t.Fatalf("%d records, want %d: %+v\n%s", len(s.records), n, s.records, s.log.String())
	}
	if n == 0 {
		return audit.Record{}
	}
	r := s.records[n-1]
	if r.Event != audit.PolicyReload || r.Policy == nil || r.Policy.File != s.path {
		s.t.Fatalf("%+v", r)
	}
	return r
}

// serving starts with a policy file; "" is without one.
func serving(t *testing.T, text string) *server {
	s := &server{t: t, may: true}
	var f load.File
	if text != "" {
		s.path = filepath.Join(t.TempDir(), "policy.yaml")
		s.write(text)
		var err error
		if f, err = load.Load(s.path); err != nil {
			t.Fatal(err)
		}
	}
	s.r = New(Options{
		File: f, Prepare: s.prepare, Keeper: s, Trail: s,
		Read:   func(f load.File) { s.read = append(s.read, f) },
		Others: func() { s.others++ },
		Log:    slog.New(slog.NewTextHandler(&s.log, nil)),
	})
	return s
}

func TestAChangedFileDecidesAndIsRecorded(t *testing.T) {
	s := serving(t, first)
	old := s.r.Policy()
	s.write(second)
	s.r.Reload(Change)
	now := s.r.Policy()
	if now == old || !slices.Equal(now.Names(), []string{"bash", "ls"}) || !slices.Equal(s.decided, []string{now.Digest}) {
		t.Fatalf("%v decides; %v", now.Names(), s.decided)
	}
	r := s.last(1)
	want := audit.Policy{Outcome: audit.PolicyLoaded, Trigger: "change", File: s.path, SHA256: now.Digest, OldSHA256: old.Digest, Programs: 2, Rules: now.Rules(), Presets: 1, Doubts: len(load.Lint(now))}
	if *r.Policy != want || want.Doubts == 0 || r.Error != "" {
		t.Errorf("%+v, want %+v", *r.Policy, want)
	}
	if len(s.read) != 1 || s.read[0].Policy != now {
		t.Errorf("told of %+v", s.read)
	}
	if log := s.log.String(); strings.Count(log, "decides from now on") != 1 || strings.Count(log, "doubtful in the policy file") != want.Doubts {
		t.Error(log)
	}
}

// TestAFileThatCannotBeUsedLeavesTheLastGoodOne for every kind of fault, which
// is reported once, and again to a person who asks.
func TestAFileThatCannotBeUsedLeavesTheLastGoodOne(t *testing.T) {
	for says, c := range map[string]struct {
		spoil func(s *server)
		want  string
	}{
		"half a line":             {func(s *server) { s.write("version: 1\ncommands:\n  echo: {all") }, "cannot use the policy file"},
		"an unknown key":          {func(s *server) { s.write(first + "comands: {}\n") }, `unknown key "comands"`},
		"an empty file":           {func(s *server) { s.write("") }, "version"},
		"a test of its own fails": {func(s *server) { s.write(first + "tests:\n  - {run: echo x, expect: deny}\n") }, "1 of its tests fail"},
		"a list that is missing":  {func(s *server) { s.write(first + "extends: [nothing.json]\n") }, "nothing.json"},
		"no file at all":          {func(s *server) { s.must(os.Remove(s.path)) }, "no such file"},
		"a directory":             {func(s *server) { s.must(errors.Join(os.Remove(s.path), os.Mkdir(s.path, 0o700))) }, "cannot use the policy file"},
		"others may write it":     {func(s *server) { s.write(second); s.must(os.Chmod(s.path, 0o622)) }, "chmod go-w"},
		"what it names cannot be made": {func(s *server) { s.write(second); s.cannot = errors.New("the decider cannot be asked there") },
			"the decider cannot be asked there"},
	} {
		t.Run(says, func(t *testing.T) {
			s := serving(t, first)
			old := s.r.Policy()
			c.spoil(s)
			s.r.Reload(Change)
			if s.r.Policy() != old || len(s.decided) > 0 || !s.r.Refused() {
				t.Fatalf("%v decides, %v, refused: %v", s.r.Policy().Names(), s.decided, s.r.Refused())
			}
			r := s.last(1)
			if r.Policy.Outcome != audit.PolicyRefused || r.Policy.OldSHA256 != old.Digest || r.Policy.SHA256 != "" || !strings.Contains(r.Error, c.want) || r.Why == "" {
				t.Errorf("%+v: %s", *r.Policy, r.Error)
			}
			s.r.Reload(Change)
			s.last(1)
			s.r.Reload(Signal)
			if r := s.last(2); r.Policy.Outcome != audit.PolicyRefused || r.Policy.Trigger != "signal" {
				t.Errorf("%+v", *r.Policy)
			}
			if n := strings.Count(s.log.String(), "level=ERROR"); n != 1 {
				t.Errorf("the log tells it %d times: %s", n, s.log.String())
			}
			// When the fault is corrected, the file decides.
			s.cannot = nil
			s.must(os.RemoveAll(s.path))
			s.write(second)
			s.r.Reload(Change)
			if r := s.last(3); r.Policy.Outcome != audit.PolicyLoaded || s.r.Refused() || s.r.Policy() == old || len(s.decided) != 1 {
				t.Errorf("%+v, %v", *r.Policy, s.decided)
			}
		})
	}
}

func (s *server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestAFileThatSaysTheSameIsToldToWhoAsks(t *testing.T) {
	s := serving(t, first)
	s.write(first)
	s.r.Reload(Change)
	s.last(0)
	s.r.Reload(Signal)
	if r := s.last(1); r.Policy.Outcome != audit.PolicyUnchanged || r.Policy.SHA256 != r.Policy.OldSHA256 || r.Policy.Programs != 1 {
		t.Errorf("%+v", *r.Policy)
	}
	// The end of a fault is reported as well.
	s.write("version: 7\n")
	s.r.Reload(Change)
	s.write(first)
	s.r.Reload(Change)
	if r := s.last(3); r.Policy.Outcome != audit.PolicyUnchanged || s.r.Refused() {
		t.Errorf("%+v", *r.Policy)
	}
	if len(s.decided) > 0 {
		t.Errorf("what decides was replaced: %v", s.decided)
	}
}

// TestAFileThatIsBeingWrittenIsNotRead: half a file may be a valid one with
// fewer rules.
func TestAFileThatIsBeingWrittenIsNotRead(t *testing.T) {
	s := serving(t, first)
	s.write(second[:strings.Index(second, "  ls")])
	s.r.look()
	s.write(second)
	s.r.look() // it has changed since the last look
	if len(s.read) > 0 {
		t.Fatalf("read %v", s.read[0].Names())
	}
	s.r.look()
	if !slices.Equal(s.r.Policy().Names(), []string{"bash", "ls"}) || len(s.read) != 1 {
		t.Errorf("%v decides, read %d times", s.r.Policy().Names(), len(s.read))
	}
	s.last(1)
}

func TestAChangeOfWhatAFileExtendsIsSeen(t *testing.T) {
	s := serving(t, first)
	list := filepath.Join(filepath.Dir(s.path), "list.json")
	s.must(os.WriteFile(list, []byte(`["echo"]`), 0o600))
	s.write(first + "extends: [list.json]\n")
	s.r.Reload(Signal)
	s.must(os.WriteFile(list, []byte(`["echo", "ls"]`), 0o600))
	s.r.look()
	s.r.look()
	if r := s.last(2); r.Policy.Outcome != audit.PolicyLoaded || r.Policy.Trigger != "change" {
		t.Errorf("%+v", *r.Policy)
	}
}

// TestWhatACommandMayHaveChangedIsReadOnlyWhenAPersonSaysSo.
func TestWhatACommandMayHaveChangedIsReadOnlyWhenAPersonSaysSo(t *testing.T) {
	s := serving(t, first)
	s.may = false
	s.write(second)
	for range 3 {
		s.r.look()
	}
	if len(s.read) > 0 || len(s.decided) > 0 {
		t.Fatalf("read %d times", len(s.read))
	}
	s.r.Reload(Signal)
	if r := s.last(1); r.Policy.Outcome != audit.PolicyLoaded || r.Policy.Trigger != "signal" || len(s.decided) != 1 {
		t.Errorf("%+v", *r.Policy)
	}
}

func TestAFullTrailKeepsNoPolicyFromDeciding(t *testing.T) {
	s := serving(t, first)
	s.full = errors.New("no space left on device")
	s.write(second)
	s.r.Reload(Change)
	if len(s.decided) != 1 || !strings.Contains(s.log.String(), "cannot write the audit trail") {
		t.Errorf("%v\n%s", s.decided, s.log.String())
	}
}

func TestTheFirstRecordNamesThePolicy(t *testing.T) {
	s := serving(t, second)
	p := s.r.Start()
	if p == nil || p.Outcome != audit.PolicyLoaded || p.Trigger != "start" || p.File != s.path || p.SHA256 != s.r.Policy().Digest || p.Presets != 1 || p.OldSHA256 != "" {
		t.Errorf("%+v", p)
	}
	if p := serving(t, "").r.Start(); p != nil {
		t.Errorf("without a file: %+v", p)
	}
}

func TestWithoutAFileThereIsNothingToRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serving(t, "")
		told := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() { s.r.Follow(ctx, told) })
		time.Sleep(time.Minute)
		told <- struct{}{}
		synctest.Wait()
		cancel()
		following.Wait()
		if s.r.Policy() != nil || s.r.Refused() || s.others != 1 || len(s.records)+len(s.read) > 0 || strings.Count(s.log.String(), "but there is none") != 1 {
			t.Errorf("%+v\n%s", s, s.log.String())
		}
	})
}

// TestFollowingSeesAChangeWithinTwoLooks, reads all other files when told, and
// ends with its context.
func TestFollowingSeesAChangeWithinTwoLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serving(t, first)
		told := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() { s.r.Follow(ctx, told) })
		s.write(second)
		time.Sleep(2*interval + interval/2)
		synctest.Wait()
		if r := s.last(1); r.Policy.Outcome != audit.PolicyLoaded || s.others != 0 {
			t.Errorf("%+v, %d", *r.Policy, s.others)
		}
		told <- struct{}{}
		synctest.Wait()
		if r := s.last(2); r.Policy.Trigger != "signal" || s.others != 1 {
			t.Errorf("%+v, %d", *r.Policy, s.others)
		}
		cancel()
		following.Wait()
		s.write(first)
		time.Sleep(time.Minute)
		s.last(2)
	})
}

// TestReadersSeeWholePolicies while files good and bad come and go.
func TestReadersSeeWholePolicies(t *testing.T) {
	s := serving(t, first)
	var reading sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		reading.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if names := s.r.Policy().Names(); !slices.Equal(names, []string{"echo"}) && !slices.Equal(names, []string{"bash", "ls"}) {
					t.Errorf("%v", names)
				}
				s.r.Refused()
			}
		})
	}
	for i := range 50 {
		s.write([]string{second, "version: 9\n", first}[i%3])
		s.r.Reload(Change)
	}
	close(done)
	reading.Wait()
}
