package doctor

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/audit/retention"
	"tipstaff/internal/audit/sink"
)

func TestEarlyWordsAboutTheRoomForTheRecord(t *testing.T) {
	for name, c := range map[string]struct {
		room Room
		want string
	}{
		"nothing to say":           {Room{Free: 5 << 30, Trails: 9 << 30}, ""},
		"room is not known":        {Room{Free: -1}, ""},
		"little room":              {Room{Free: 7 << 20}, "! the record has 7 MiB of room left; without room for a record no command runs\n  move old records"},
		"much, and no bounds":      {Room{Free: 5 << 30, Trails: 10 << 30, Recorded: 3 << 30}, "! the record takes 13 GiB, and nothing bounds it\n"},
		"bounded":                  {Room{Free: 5 << 30, Keep: "90d,50GiB", Trails: 3 << 20}, "✔ of the record 90d,50GiB is kept; it takes 3 MiB, and recordings 0 MiB\n"},
		"recordings are bounded":   {Room{Free: 5 << 30, Recordings: "7d"}, "✔ of the record all, and of recordings 7d is kept;"},
		"more than the bounds":     {Room{Free: 5 << 30, Keep: "90d", Due: 2}, "! more of the record is there than is to be kept (90d): something of 2 trails\n"},
		"a trail that was changed": {Room{Free: -1, Verified: 2, Tampered: []string{"20260101T120000Z-1-a: record 3"}}, "! a trail does not verify: 20260101T120000Z-1-a: record 3\n"},
		"it cannot be told":        {Room{Free: -1, Error: "no"}, "! how much the record takes cannot be told: no\n"},
	} {
		if got := shown(c.room.findings()); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestWhatIsNotToBeKeptIsCounted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	at := time.Now().Add(-48 * time.Hour)
	trail, err := audit.Create(dir, audit.Options{Clock: func() time.Time { return at }})
	if err == nil {
		err = trail.Append(audit.Record{Event: audit.ServerStart})
	}
	if err == nil {
		err = trail.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for age, due := range map[time.Duration]int{24 * time.Hour: 1, 72 * time.Hour: 0} {
		o := RecordOptions{Dir: dir, Durability: "interval", Keep: retention.Bounds{Age: age}, Sinks: func() ([]sink.Sink, error) { return nil, nil }}
		r := ExamineRecord(t.Context(), o)
		if r.Room == nil || r.Room.Verified != 1 || len(r.Room.Tampered) > 0 || r.Room.Due != due || r.Room.Trails == 0 || r.Room.Error != "" {
			t.Errorf("%v: %+v", age, r.Room)
		}
	}
}

func TestATrailThatWasChangedIsTold(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	var first, changed string
	for range 2 {
		trail, err := audit.Create(dir, audit.Options{})
		if err == nil {
			err = trail.Append(audit.Record{Event: audit.ServerStart})
		}
		if err == nil {
			err = trail.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		if changed = trail.Path(); first == "" {
			first = changed
		}
	}
	if r := examineRoom(RecordOptions{Dir: dir}); r.Verified != 2 || len(r.Tampered) > 0 {
		t.Errorf("as they were written: %+v", r)
	}
	path := filepath.Join(changed, audit.FirstSegment)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(data, []byte("server.start"), []byte("server.stort"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := examineRoom(RecordOptions{Dir: dir}); r.Verified != 2 || len(r.Tampered) != 1 || !strings.HasPrefix(r.Tampered[0], filepath.Base(changed)) {
		t.Errorf("changed: %+v", r)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(first); err != nil {
		t.Fatal(err)
	}
	if r := examineRoom(RecordOptions{Dir: dir}); r.Verified != 1 || len(r.Tampered) != 1 || !strings.HasPrefix(r.Tampered[0], filepath.Base(first)) || !strings.Contains(r.Tampered[0], "gone") {
		t.Errorf("one was taken away: %+v", r)
	}
}
