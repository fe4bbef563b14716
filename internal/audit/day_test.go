//go:build unix

package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tipstaff/internal/flock"
)

// aCall records one line on the trail of the day, as a process that ends soon does.
func aCall(t *testing.T, dir string, o Options) *Trail {
	t.Helper()
	trail, err := OpenDay(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, trail, Record{Event: CommandJudged, What: What{Script: "ls"}})
	if err := trail.Close(); err != nil {
		t.Fatal(err)
	}
	return trail
}

// at is the clock of a day.
func at(hour int) Options {
	return Options{Clock: func() time.Time { return time.Date(2026, 1, 2, hour, 0, 0, 0, time.UTC) }}
}

// TestTheCallsOfADayMakeOneTrail: also over several files, and it verifies between them;
// the next day closes it and begins another.
func TestTheCallsOfADayMakeOneTrail(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	o := at(3)
	o.SegmentBytes = 1 << 10
	for i := range 40 {
		trail := aCall(t, dir, o)
		if trail.Anew() != nil {
			t.Fatal(trail.Anew())
		}
		report, err := Verify(dir, VerifyOptions{})
		if err != nil || report.Status() != OK || len(report.Trails) != 1 || report.Trails[0].Records != uint64(i+1) || report.Trails[0].Signed != uint64(i+1) || report.Trails[0].Closed {
			t.Fatalf("after %d calls: %+v, %v", i+1, report, err)
		}
	}
	first := verified(t, Files{}, dir).Path
	if _, err := os.Stat(filepath.Join(first, segmentFile(5))); err != nil {
		t.Error("it has too few files:", err)
	}
	if Continues(first, o.Clock()) != true || Continues(first, o.Clock().Add(22*time.Hour)) {
		t.Error("who may continue it is wrong")
	}
	if next := aCall(t, dir, at(27)); next.Path() == first || next.Anew() != nil {
		t.Errorf("the next day goes on in %s: %v", next.Path(), next.Anew())
	}
	sound(t, dir, 2, VerifyOptions{})
	if r := verified(t, Files{}, first); !r.Closed || r.Records != 40 {
		t.Errorf("the day was not closed: %+v", r)
	}
}

// TestCallsAtOnceWriteOneAfterTheOther: and one that has no time left is not recorded.
func TestCallsAtOnceWriteOneAfterTheOther(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	var calls sync.WaitGroup
	for range 16 {
		calls.Go(func() { aCall(t, dir, at(3)) })
	}
	calls.Wait()
	sound(t, dir, 1, VerifyOptions{})
	if r := verified(t, Files{}, dir); r.Signed != 16 {
		t.Errorf("%+v", r)
	}
	held, err := OpenDay(t.Context(), dir, at(3))
	if err != nil {
		t.Fatal(err)
	}
	late := errors.New("the client waits no longer")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	if trail, err := OpenDay(ctx, dir, at(3)); !errors.Is(err, late) {
		t.Errorf("%v, %v", trail, err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	aCall(t, dir, at(3))
}

// spoil changes a file and gives it the time that it had.
func spoil(t *testing.T, path string, to func([]byte) []byte) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(path, to(data), 0o600), os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
}

// TestWhatIsNotInOrderIsNotContinued: the next call begins another trail and says why, and
// verify says what is wrong with the one before. The first case is the control.
func TestWhatIsNotInOrderIsNotContinued(t *testing.T) {
	forge := func(data []byte) []byte { // a line whose own hash is right
		lines := strings.SplitAfter(string(data), "\n")
		body, _, _ := strings.Cut(strings.Replace(lines[len(lines)-2], `"ls"`, `"rm"`, 1), hashBegin)
		own := digestOf([]byte(body + "}"))
		return []byte(strings.Join(lines[:len(lines)-2], "") + body + hashBegin + string(own[:]) + lineEnd + "\n")
	}
	for _, c := range []struct {
		name   string
		spoil  func(t *testing.T, trail string)
		why    string
		status Status
	}{
		{"nothing", func(*testing.T, string) {}, "", OK},
		{"a torn line", func(t *testing.T, trail string) {
			t.Helper()
			spoil(t, filepath.Join(trail, FirstSegment), func(b []byte) []byte { return append(b, `{"v":1,`...) })
		}, "were changed", Incomplete},
		{"the last line forged, all of one length and time", func(t *testing.T, trail string) {
			t.Helper()
			spoil(t, filepath.Join(trail, FirstSegment), forge)
		}, "not those that were signed", Tampered},
		{"a line before altered, at another time", func(t *testing.T, trail string) {
			t.Helper()
			path := filepath.Join(trail, FirstSegment)
			spoil(t, path, func(b []byte) []byte { return []byte(strings.Replace(string(b), `"ls"`, `"rm"`, 1)) })
			if err := os.Chtimes(path, time.Now(), time.Now().Add(time.Second)); err != nil {
				t.Fatal(err)
			}
		}, "were changed", Tampered},
		{"its checkpoints cut", func(t *testing.T, trail string) {
			t.Helper()
			spoil(t, filepath.Join(trail, checkpointsFile), func(b []byte) []byte { return b[:len(b)-9] })
		}, "torn", OK},
		{"another key", func(t *testing.T, trail string) {
			t.Helper()
			if _, err := RotateKey(filepath.Dir(trail), time.Now()); err != nil {
				t.Fatal(err)
			}
		}, "another key", OK},
		{"subtrees that are none", func(t *testing.T, trail string) {
			t.Helper()
			spoil(t, filepath.Join(filepath.Dir(trail), dayFile), func(b []byte) []byte {
				lines := strings.SplitAfter(string(b), "\n")
				lines[2] = "AAAA" + lines[2][4:]
				return []byte(strings.Join(lines, ""))
			})
		}, "not those that were signed", OK},
		{"no trail of a day", func(t *testing.T, trail string) {
			t.Helper()
			spoil(t, filepath.Join(filepath.Dir(trail), dayFile), func([]byte) []byte { return []byte("../20260102T030000Z-0-00 1 1\n") })
		}, "names no trail of a day", OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "audit")
			first := ""
			for range 3 {
				first = aCall(t, dir, at(3)).Path()
			}
			c.spoil(t, first)
			next := aCall(t, dir, at(3))
			if why := next.Anew(); c.why == "" != (why == nil) || why != nil && !strings.Contains(why.Error(), c.why) || (next.Path() == first) != (c.why == "") {
				t.Errorf("goes on in %s, was in %s: %v", filepath.Base(next.Path()), filepath.Base(first), why)
			}
			if r := verified(t, Files{}, first); r.Status != c.status {
				t.Errorf("%s, %v", r.Status, r.Fault)
			}
			if again := aCall(t, dir, at(3)); again.Path() != next.Path() {
				t.Error("the new one is not continued")
			}
		})
	}
}

// TestAKilledCallSignsNothingOfOthers: what it wrote without a checkpoint may be anybody's
// by the time of the next call, so that one begins another trail.
func TestAKilledCallSignsNothingOfOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	first := aCall(t, dir, at(3)).Path()
	killed, err := OpenDay(t.Context(), dir, at(3))
	if err != nil || killed.Path() != first {
		t.Fatal(err)
	}
	appendAll(t, killed, Record{Event: CommandJudged})
	if err := killed.file.Sync(); err != nil {
		t.Fatal(err)
	}
	close(killed.quit) // a killed process signs nothing, and its locks end
	<-killed.done
	_ = errors.Join(killed.file.Close(), killed.checkpoints.file.Close(), killed.day.lock.Close())
	next := aCall(t, dir, at(3))
	if next.Path() == first || next.Anew() == nil {
		t.Errorf("%s goes on: %v", next.Path(), next.Anew())
	}
	sound(t, dir, 2, VerifyOptions{})
	if r := verified(t, Files{}, first); r.Records != 2 || r.Signed > 1 {
		t.Errorf("%+v", r)
	}
}

// TestTheTrailOfADayIsAWitnessAndHasOne: a server that ended between two calls is held to
// its end by the second call, and the calls before a server starts by that server.
func TestTheTrailOfADayIsAWitnessAndHasOne(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	daily := aCall(t, dir, Options{}).Path()
	server := writtenTrail(t, dir, 250, Options{})
	if next := aCall(t, dir, Options{}); next.Path() != daily {
		t.Fatal(next.Anew())
	}
	sound(t, dir, 2, VerifyOptions{})
	kept := map[string][]byte{}
	for _, name := range []string{FirstSegment, checkpointsFile} {
		data, err := os.ReadFile(filepath.Join(daily, name))
		if err != nil {
			t.Fatal(err)
		}
		kept[name] = data
	}
	spoil(t, filepath.Join(server, checkpointsFile), func(b []byte) []byte {
		notes, _ := splitNotes(b)
		return b[:noteBytes(notes[:2])] // the one of 100 records
	})
	spoil(t, filepath.Join(server, FirstSegment), func(b []byte) []byte {
		return []byte(strings.Join(strings.SplitAfter(string(b), "\n")[:100], ""))
	})
	if r := verified(t, Files{}, dir); r.Path != server || r.Fault == nil || r.Fault.Reason != Contradicted {
		t.Errorf("a server's trail was cut: %+v", r)
	}
	if err := os.RemoveAll(server); err != nil {
		t.Fatal(err)
	}
	if r := verified(t, Files{}, dir); r.Fault == nil || r.Fault.Reason != TrailGone {
		t.Errorf("a server's trail was removed: %+v", r)
	}
	aCall(t, dir, Options{})
	writtenTrail(t, dir, 1, Options{})
	for name, data := range kept { // an earlier state of the trail of the day
		if err := os.WriteFile(filepath.Join(daily, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	report, err := Verify(daily, VerifyOptions{})
	if err != nil || report.Status() != OK {
		t.Errorf("the control: %+v, %v", report, err)
	}
	report, err = Verify(dir, VerifyOptions{})
	if err != nil || report.Trails[0].Path != daily || report.Trails[0].Fault == nil || report.Trails[0].Fault.Reason != Contradicted {
		t.Errorf("a day was set back: %+v, %v", report, err)
	}
}

// TestADayThatGoesOnIsNotArchivedOrRetired: what a statement says is whole takes no more.
func TestADayThatGoesOnIsNotArchivedOrRetired(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	trail := aCall(t, dir, at(3))
	for _, c := range []struct {
		hours int
		ended bool
	}{{5, false}, {21, false}, {23, true}} {
		now := func() time.Time { return at(3).Clock().Add(time.Duration(c.hours) * time.Hour) }
		for _, name := range []string{FirstSegment, checkpointsFile, trailKeyFile} {
			if err := os.Chtimes(filepath.Join(trail.Path(), name), at(3).Clock(), at(3).Clock()); err != nil {
				t.Fatal(err)
			}
		}
		list, err := Inventories(dir, now())
		if err != nil || list[0].Ended != c.ended {
			t.Errorf("after %d hours: %+v, %v", c.hours, list, err)
		}
		k, err := NewKeeper(dir, "a test", now)
		if err != nil {
			t.Fatal(err)
		}
		_, err = k.Retire(trail.name(), "")
		k.Close()
		if (err == nil) != c.ended {
			t.Errorf("after %d hours it is retired: %v", c.hours, err)
		}
	}
	if next := aCall(t, dir, at(3)); next.Anew() == nil {
		t.Error("what is gone was continued")
	}
	sound(t, dir, 2, VerifyOptions{})
}

// TestALockThatWasReplacedLetsNoTwoWrite: whoever removes the file of the lock does not
// let two processes write one trail.
func TestALockThatWasReplacedLetsNoTwoWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	aCall(t, dir, at(3))
	held, err := OpenDay(t.Context(), dir, at(3))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, dayFile)
	data, err := os.ReadFile(path)
	if err = errors.Join(err, os.Remove(path), os.WriteFile(path, data, 0o600)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(flock.Try(f), f.Close()); err != nil {
		t.Fatal("the control:", err)
	}
	other, err := OpenDay(ctx, dir, at(3))
	if err != nil {
		t.Fatal(err)
	}
	if other.Path() == held.Path() {
		t.Error("two write one trail")
	}
	appendAll(t, held, Record{Event: CommandJudged})
	if err := errors.Join(held.Close(), other.Close()); err != nil {
		t.Error(err)
	}
	sound(t, dir, 2, VerifyOptions{})
}
