//go:build linux

package script

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/run"
)

// steered starts a script and returns what can be done with it, and its result.
func (s *server) steered(req tipstaff.Request) (run.Controls, chan tipstaff.Result) {
	s.t.Helper()
	given, end := make(chan run.Controls, 1), make(chan tipstaff.Result, 1)
	go func() {
		res, err := s.Execute(s.t.Context(), req, run.Live{Observer: run.Observer{Controls: func(c run.Controls) { given <- c }}})
		if err != nil {
			s.t.Error(err)
			close(given)
		}
		end <- res
	}()
	return <-given, end
}

func (s *server) eventually(says string, so func() bool) {
	s.t.Helper()
	for limit := time.Now().Add(20 * time.Second); !so(); {
		if time.Now().After(limit) {
			s.t.Fatalf("%s: it never does", says)
		}
	}
}

func TestTheCommandsOfAScriptHaveItsTerminal(t *testing.T) {
	eachTier(t, func(t *testing.T, s *server) {
		req := s.request("ask 1 stty size\nanswer\nask 2 sh -c tty>/dev/null;exec<&1\nanswer\nsay last" + end)
		req.Terminal = &tipstaff.TerminalSize{Rows: 30, Columns: 100}
		r := s.runAs(t.Context(), req)
		if got := printed(&r); !strings.HasPrefix(got, "30 100\r\n5: 1 0 0 ") || !strings.HasSuffix(got, "last\r\n") || r.ExitCode != 0 {
			t.Errorf("%d %q", r.ExitCode, got)
		}
	})
}

func TestAScriptIsSteeredByItsCommands(t *testing.T) {
	eachTier(t, func(t *testing.T, s *server) {
		for _, terminal := range []*tipstaff.TerminalSize{nil, {Rows: 24, Columns: 80}} {
			req := s.request("ask 1 head -n 1\nanswer\nask 2 cat\nanswer" + end)
			req.Background, req.Terminal = true, terminal
			c, ended := s.steered(req)
			s.eventually("head waits", c.WaitsForInput)
			if _, err := c.Input(t.Context(), []byte("one\n")); err != nil {
				t.Error(err)
			}
			s.eventually("cat waits", c.WaitsForInput)
			if is, err := c.Listens(1); is || err != nil {
				t.Errorf("%v, %v", is, err)
			}
			if _, err := c.Input(t.Context(), []byte("two\n")); err != nil {
				t.Error(err)
			}
			s.eventually("cat waits again", c.WaitsForInput)
			if err := c.CloseInput(); err != nil {
				t.Error(err)
			}
			r := <-ended
			if got := printed(&r); !strings.Contains(got, "one") || !strings.Contains(got, "two") || r.ExitCode != 0 || r.Cause != tipstaff.Exited {
				t.Errorf("%v %d %q", r.Cause, r.ExitCode, got)
			}
		}
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			req := s.request("ask 1 cat\nanswer" + end)
			req.Background = true
			c, ended := s.steered(req)
			s.eventually("cat waits", c.WaitsForInput)
			if err := c.Signal(signal); err != nil {
				t.Error(err)
			}
			if r := <-ended; r.Cause != tipstaff.Stopped {
				t.Errorf("%v: %v", signal, r.Cause)
			}
		}
	})
}
