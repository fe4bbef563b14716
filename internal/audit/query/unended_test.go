package query

import (
	"fmt"
	"testing"

	"tipstaff"
	"tipstaff/internal/audit"
)

func TestStartsWithoutAnEndAreFoundInTrailsWhoseServerHasNotStopped(t *testing.T) {
	dir := t.TempDir()
	trail, err := audit.Create(dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(e audit.Event, id tipstaff.RequestID) {
		t.Helper()
		if err := trail.Append(audit.Record{Event: e, Trace: audit.Trace{CommandID: id}}); err != nil {
			t.Fatal(err)
		}
	}
	write(audit.ServerStart, "")
	for _, id := range []tipstaff.RequestID{"ended", "failed", "told", "first", "second"} {
		write(audit.CommandStart, id)
	}
	write(audit.CommandEnd, "ended")
	write(audit.CommandError, "failed")
	write(audit.CommandLost, "told")
	look := func() (ids []tipstaff.RequestID, stopped bool) {
		t.Helper()
		trails, err := Find(dir)
		if err != nil {
			t.Fatal(err)
		}
		found, err := Unended(t.Context(), trails)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range found {
			ids = append(ids, r.Trace.CommandID)
		}
		if stopped, err = Stopped(t.Context(), trails[0]); err != nil {
			t.Fatal(err)
		}
		return ids, stopped
	}
	if ids, stopped := look(); fmt.Sprint(ids) != "[first second]" || stopped {
		t.Errorf("unended %v, stopped %v", ids, stopped)
	}
	write(audit.ServerStop, "")
	if _, stopped := look(); !stopped {
		t.Error("a server that has stopped is taken for one that has not")
	}
}
