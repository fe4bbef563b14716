package mcpserver

import "testing"

func TestReplaysAreBounded(t *testing.T) {
	const most = 100 << 10
	r := newReplays(most)
	ctx := t.Context()
	for i := range 1000 {
		session := string(rune('A' + i%20))
		stream := session + string(rune(i))
		if err := r.Open(ctx, session, stream); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := r.Append(ctx, session, stream, make([]byte, 1<<10)); err != nil {
				t.Fatal(err)
			}
		}
	}
	kept := 0
	for _, streams := range r.sessions {
		for _, of := range streams {
			for _, e := range of.events {
				kept += len(e)
			}
		}
	}
	if r.size > most || kept > most || kept < most/2 {
		t.Errorf("%d bytes are kept, %d are counted, of at most %d", kept, r.size, most)
	}
	if events, err := r.after("A", "A"+string(rune(0)), 0); err == nil {
		t.Errorf("of a forgotten stream: %d events", len(events))
	}
	if err := r.Append(ctx, "A", "A"+string(rune(0)), nil); err == nil {
		t.Error("a forgotten stream was begun anew, with wrong numbers")
	}
	for id := range r.sessions {
		r.drop(id)
	}
	if len(r.sessions) != 0 {
		t.Error("sessions are left")
	}
}
