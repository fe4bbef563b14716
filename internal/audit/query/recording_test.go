package query

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/audit"
	"tipstaff/internal/output/recording"
)

// TestARecordingIsTheOneOfWhichTheTrailSpeaks, or it is not played.
func TestARecordingIsTheOneOfWhichTheTrailSpeaks(t *testing.T) {
	const kept = "{\"version\":3}\n"
	dir := t.TempDir()
	end := func(id, sum string) audit.Record {
		r := audit.Record{Event: audit.CommandEnd, Result: &audit.Result{RecordingSHA256: sum}}
		r.Trace.CommandID = tipstaff.RequestID(id)
		return r
	}
	write(t, dir, began(), time.Second, audit.Record{Event: audit.ServerStart}, end("cmd_other", recording.Sum([]byte(kept))))
	path := write(t, dir, began().Add(time.Hour), time.Second,
		audit.Record{Event: audit.ServerStart}, end("cmd_good", recording.Sum([]byte(kept))), end("cmd_altered", recording.Sum([]byte("else"))), end("cmd_unknown", ""))
	if err := os.Mkdir(filepath.Join(path, recording.Directory), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"cmd_good", "cmd_altered", "cmd_unknown", "cmd_unrecorded"} {
		if err := os.WriteFile(recording.File(path, id), []byte(kept), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(recording.File(path, "cmd_directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	trails, err := Find(dir)
	if err != nil || len(trails) != 2 {
		t.Fatal(trails, err)
	}
	if file, err := Recording(t.Context(), trails, "cmd_good"); err != nil || file.Path != recording.File(path, "cmd_good") || string(file.Data) != kept {
		t.Errorf("%v, %v", file, err)
	}
	for _, id := range []string{"cmd_altered", "cmd_unknown", "cmd_unrecorded"} {
		var altered *AlteredError
		if file, err := Recording(t.Context(), trails, id); file.Path != "" || !errors.As(err, &altered) || altered.File != recording.File(path, id) || altered.Got != recording.Sum([]byte(kept)) || altered.Want == altered.Got {
			t.Errorf("%s: %v, %v", id, file, err)
		}
	}
	for _, id := range []string{"cmd_other", "cmd_nothing", "../../cmd_nothing"} {
		if file, err := Recording(t.Context(), trails, id); file.Path != "" || !errors.Is(err, ErrNoRecording) {
			t.Errorf("%s: %v, %v", id, file, err)
		}
	}
	if file, err := Recording(t.Context(), trails, "cmd_directory"); file.Path != "" || err == nil || errors.Is(err, ErrNoRecording) {
		t.Errorf("a directory: %v, %v", file, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if file, err := Recording(ctx, trails, "cmd_good"); file.Path != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("behind the end: %v, %v", file, err)
	}
}
