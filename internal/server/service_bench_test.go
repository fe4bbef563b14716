package server

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"tipstaff"
	"tipstaff/internal/run/session"
	"tipstaff/internal/server/config"
)

type noRecord struct{}

func (noRecord) SessionCreated(tipstaff.Session) error { return nil }

func (noRecord) SessionClosed(tipstaff.Session, string) {}

// BenchmarkNow is what one look at 200 sessions costs a server.
func BenchmarkNow(b *testing.B) {
	settings, err := config.FromEnvironment([]string{"TIPSTAFF_STATE_DIR=" + b.TempDir(), "HOME=" + b.TempDir(), "PATH=/usr/bin:/bin"})
	if err != nil {
		b.Fatal(err)
	}
	st, err := New(settings, NewLog(io.Discard))
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close("the benchmark is over")
	st.sessions = session.NewStore(session.Options{Max: 500, OwnMax: 500, Idle: 1 << 40, Recorder: noRecord{}})
	for i := range 200 {
		s := tipstaff.Session{Dir: "/srv/work", Origin: tipstaff.Origin{Agent: fmt.Sprint("agent-", i), Task: "T", Client: "claude-code/2.1", Principal: "local"}}
		if _, err := st.sessions.Create(s); err != nil {
			b.Fatal(err)
		}
	}
	h := newAdminService(st)
	b.Run("look", func(b *testing.B) {
		for b.Loop() {
			h.Now()
		}
	})
	now := h.Now()
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			_, _ = json.Marshal(now)
		}
	})
}
