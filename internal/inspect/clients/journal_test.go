package clients

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// all are the texts below a directory, by their names.
func all(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	names, err := os.ReadDir(dir)
	must(t, err)
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name.Name()))
		must(t, err)
		texts[name.Name()] = string(data)
	}
	return texts
}

// holds reports whether one of the files has a text.
func holds(texts map[string]string, text string) bool {
	for _, one := range texts {
		if one == text {
			return true
		}
	}
	return false
}

// TestUninstallDeletesNoFileOfTheUsers, whatever it held, and whether its copies and the
// journal are there. It deleted those that held only an earlier entry, with their copies.
func TestUninstallDeletesNoFileOfTheUsers(t *testing.T) {
	older := ours
	older.Command = "/old/tipstaff"
	removeCopies := func(t *testing.T, s System, path string) {
		for name := range all(t, filepath.Dir(path)) {
			if strings.Contains(name, backupWord) {
				must(t, os.Remove(filepath.Join(filepath.Dir(path), name)))
			}
		}
	}
	for _, c := range edited() {
		earlier, err := setEntry(editorOf(t, c), "", c.entry.fields(older), c.entry.foreign(older))
		must(t, err)
		for says, text := range map[string]string{"an earlier entry": earlier, "an empty object": "{}", "one with a newline": "{}\n", "nothing": "", "an empty table": `{"` + string(c.format.(jsonc)) + `": {}}`} {
			for meanwhile, change := range map[string]func(*testing.T, System, string){
				"nothing":             func(*testing.T, System, string) {},
				"no copies":           removeCopies,
				"no journal":          func(t *testing.T, s System, _ string) { must(t, os.RemoveAll(s.Journal)) },
				"neither":             func(t *testing.T, s System, p string) { removeCopies(t, s, p); must(t, os.RemoveAll(s.Journal)) },
				"the client wrote it": func(t *testing.T, s System, p string) { put(t, p, " "+read1(t, p)) },
				"another journal":     func(t *testing.T, s System, _ string) { must(t, os.Rename(s.Journal, s.Journal+"2")) },
			} {
				s := home(t)
				path := s.Path(c, User)
				put(t, path, text)
				do(t, s, c, ours, time.Unix(1, 0))
				change(t, s, path)
				before := all(t, filepath.Dir(path))
				undo(t, s, c)
				after := all(t, filepath.Dir(path))
				if _, there := after[filepath.Base(path)]; !there {
					t.Errorf("%s, %s, meanwhile %s: the file is gone: %v", c.Name, says, meanwhile, after)
				}
				if st := s.Look(c, User); st.Installed || st.Fault != "" {
					t.Errorf("%s, %s, meanwhile %s: %+v", c.Name, says, meanwhile, st)
				}
				if holds(before, text) && !holds(after, text) {
					t.Errorf("%s, %s, meanwhile %s: the last copy of what it was is gone: %q", c.Name, says, meanwhile, after)
				}
			}
		}
	}
}

func read1(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

// TestOnlyTheJournalProvesWhatAFileWas: a copy that somebody has put beside the file, under
// a name like tipstaff's, or has changed, is not what the file becomes.
func TestOnlyTheJournalProvesWhatAFileWas(t *testing.T) {
	const theirs, planted = `{"mine": 1}`, `{"planted": true}`
	c := find(t, "cursor")[0]
	for says, plant := range map[string]func(t *testing.T, copied string){
		"changed": func(t *testing.T, copied string) { must(t, os.WriteFile(copied, []byte(planted), 0o600)) },
		"newer": func(t *testing.T, copied string) {
			must(t, os.Remove(copied))
			must(t, os.WriteFile(copied+"0", []byte(planted), 0o600))
		},
		"a pipe": func(t *testing.T, copied string) { must(t, os.Remove(copied)); must(t, makePipe(copied)) },
	} {
		s := home(t)
		path := s.Path(c, User)
		put(t, path, theirs)
		changes, errs := s.Install([]Client{c}, ours, Options{Scope: User})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		copied, err := changes[0].Do(time.Now())
		must(t, err)
		plant(t, copied)
		undo(t, s, c)
		if got := read1(t, path); got != theirs {
			t.Errorf("%s: %q", says, got)
		}
	}
}

// TestTwoInstallationsAtOnceLeaveACopy of what was there. Both took the same name for it,
// and the one that came too late removed it.
func TestTwoInstallationsAtOnceLeaveACopy(t *testing.T) {
	const theirs = `{"mine": 1}`
	c := find(t, "cursor")[0]
	for range 20 {
		s := home(t)
		path := s.Path(c, User)
		put(t, path, theirs)
		var changes []Change
		for range 4 {
			planned, errs := s.Install([]Client{c}, ours, Options{Scope: User})
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			changes = append(changes, planned...)
		}
		var working sync.WaitGroup
		var mu sync.Mutex
		succeeded := 0
		now := time.Now()
		for _, ch := range changes {
			working.Go(func() {
				_, err := ch.Do(now)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					succeeded++
				} else if !strings.Contains(err.Error(), "changed by another program") {
					t.Error(err)
				}
			})
		}
		working.Wait()
		if texts := all(t, filepath.Dir(path)); succeeded != 1 || len(texts) != 2 || !holds(texts, theirs) {
			t.Fatalf("%d succeeded: %q", succeeded, texts)
		}
		undo(t, s, c)
		if texts := all(t, filepath.Dir(path)); len(texts) != 1 || !holds(texts, theirs) {
			t.Fatalf("after uninstall: %q", texts)
		}
	}
}

// TestAJournalThatCannotBeReadStopsTheWayBack: it may hold the only proof.
func TestAJournalThatCannotBeReadStopsTheWayBack(t *testing.T) {
	c := find(t, "cursor")[0]
	for says, spoil := range map[string]func(t *testing.T, place string){
		"no JSON": func(t *testing.T, place string) { must(t, os.WriteFile(place, []byte("{"), 0o600)) },
		"a later version": func(t *testing.T, place string) {
			must(t, os.WriteFile(place, []byte(`{"version": 2, "path": "x", "steps": []}`), 0o600))
		},
		"another file's": func(t *testing.T, place string) {
			must(t, os.WriteFile(place, []byte(`{"version": 1, "path": "/x", "steps": []}`), 0o600))
		},
		"a pipe": func(t *testing.T, place string) { must(t, os.Remove(place)); must(t, makePipe(place)) },
		"huge":   func(t *testing.T, place string) { must(t, os.Truncate(place, 1<<40)) },
	} {
		s := home(t)
		do(t, s, c, ours, time.Unix(1, 0))
		place, _ := journal(s.Journal).of(s.Path(c, User))
		spoil(t, place)
		before := read1(t, s.Path(c, User))
		_, errs := s.Uninstall([]Client{c}, Options{Scope: User})
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), "nothing was changed. Mend it or move it away") {
			t.Errorf("%s: %v", says, errs)
		}
		if got := read1(t, s.Path(c, User)); got != before {
			t.Errorf("%s: %q", says, got)
		}
	}
}

// TestWhatCannotBeNotedIsNotDone: the place of the journal is a file.
func TestWhatCannotBeNotedIsNotDone(t *testing.T) {
	s, c := home(t), find(t, "cursor")[0]
	put(t, s.Journal, "")
	put(t, s.Path(c, User), "{}")
	changes, errs := s.Install([]Client{c}, ours, Options{Scope: User})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if _, err := changes[0].Do(time.Now()); err == nil || !strings.Contains(err.Error(), "cannot be noted in") || !strings.Contains(err.Error(), "nothing was changed") {
		t.Error(err)
	}
	s.Journal = ""
	changes, _ = s.Install([]Client{c}, ours, Options{Scope: User})
	if _, err := changes[0].Do(time.Now()); err == nil || !strings.Contains(err.Error(), "nothing was changed. Set TIPSTAFF_STATE_DIR") {
		t.Error(err)
	}
	if texts := all(t, filepath.Dir(s.Path(c, User))); len(texts) != 1 || !holds(texts, "{}") {
		t.Errorf("%q", texts)
	}
}

// TestWhatCannotBeNotedOfAFileIsNotDone: what was noted of it cannot be read, so nothing
// can be added. The file was changed, and the message said so and "nothing was changed".
func TestWhatCannotBeNotedOfAFileIsNotDone(t *testing.T) {
	c := find(t, "cursor")[0]
	for says, spoil := range map[string]func(t *testing.T, place string){
		"no JSON":     func(t *testing.T, place string) { put(t, place, "{") },
		"a pipe":      func(t *testing.T, place string) { must(t, makePipe(place)) },
		"a directory": func(t *testing.T, place string) { must(t, os.Mkdir(place, 0o700)) },
	} {
		for _, theirs := range []string{"", "{}"} {
			s := home(t)
			path := s.Path(c, User)
			must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			if theirs != "" {
				put(t, path, theirs)
			}
			must(t, os.MkdirAll(s.Journal, 0o700))
			place, _ := journal(s.Journal).of(path)
			spoil(t, place)
			changes, errs := s.Install([]Client{c}, ours, Options{Scope: User})
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if _, err := changes[0].Do(time.Now()); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
				t.Errorf("%s: %v", says, err)
			}
			if texts := all(t, filepath.Dir(path)); len(texts) != len(theirs)/2 || theirs != "" && !holds(texts, theirs) {
				t.Errorf("%s: %q", says, texts)
			}
		}
	}
}

// TestAnInstallationThatIsEndedIsUndone, at whichever step that was: SIGKILL between the
// change and its note left a file that nobody knew to be tipstaff's.
func TestAnInstallationThatIsEndedIsUndone(t *testing.T) {
	c := find(t, "cursor")[0]
	for _, theirs := range []string{"", `{"mine": 1}`} {
		for steps := range 3 {
			s := home(t)
			path := s.Path(c, User)
			if theirs != "" {
				put(t, path, theirs)
			}
			changes, errs := s.Install([]Client{c}, ours, Options{Scope: User})
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			release, err := journal(s.Journal).lock()
			must(t, err)
			copied := ""
			if theirs != "" {
				copied, err = changes[0].file.backUp(time.Now())
				must(t, err)
			}
			if steps > 0 {
				must(t, changes[0].note(copied, time.Now()))
			}
			if steps > 1 {
				must(t, changes[0].put())
			}
			release()
			undo(t, s, c)
			if got, err := os.ReadFile(path); string(got) != theirs || (err == nil) != (theirs != "") {
				t.Errorf("%q, ended after %d steps: %q, %v", theirs, steps, got, err)
			}
		}
	}
}

// TestAChangeThatFailsIsNotNoted: the file was changed between the plan and the change, or
// cannot be replaced.
func TestAChangeThatFailsIsNotNoted(t *testing.T) {
	s, c := home(t), find(t, "cursor")[0]
	do(t, s, c, ours, time.Unix(1, 0))
	path := s.Path(c, User)
	must(t, journal(s.Journal).add(path, step{Existed: true, Before: "x", After: "y"}))
	must(t, journal(s.Journal).takeBack(path))
	undo(t, s, c)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error(err)
	}
	must(t, journal(s.Journal).add(path, step{After: "y"}))
	must(t, journal(s.Journal).takeBack(path))
	if names := all(t, s.Journal); len(names) != 0 {
		t.Errorf("%q", names)
	}
}

// TestAJournalThatOthersCanWriteIsNotBelieved: another user wrote into a state directory that
// all can write what a file had been, and uninstall made it that, or removed it.
func TestAJournalThatOthersCanWriteIsNotBelieved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	const planted = `{"planted": true}`
	c := find(t, "cursor")[0]
	for says, open := range map[string]func(s System, place string) error{
		"the directory": func(s System, _ string) error { return os.Chmod(s.Journal, 0o777) },
		"the file":      func(_ System, place string) error { return os.Chmod(place, 0o666) },
		"neither":       func(System, string) error { return nil },
	} {
		for was, planting := range map[string]step{planted: {Existed: true, Before: hashOf(planted)}, "": {}} {
			s := home(t)
			do(t, s, c, ours, time.Unix(1, 0))
			path := s.Path(c, User)
			mine := " " + read1(t, path)
			put(t, path, mine)
			planting.After, planting.Copy = hashOf(mine), filepath.Join(filepath.Dir(s.Journal), "planted")
			put(t, planting.Copy, planted)
			must(t, journal(s.Journal).add(path, planting))
			place, _ := journal(s.Journal).of(path)
			must(t, open(s, place))
			_, errs := s.Uninstall([]Client{c}, Options{Scope: User})
			if stopped := len(errs) == 1 && strings.Contains(errs[0].Error(), "can be written by others"); stopped != (says != "neither") {
				t.Errorf("%s, %q: %v", says, was, errs)
			}
			if got := read1(t, path); got != mine {
				t.Errorf("%s: %q", says, got)
			}
			_, errs = s.Install([]Client{c}, ours, Options{Scope: User})
			if len(errs) > 0 {
				t.Error(errs)
			}
		}
	}
}
