//go:build linux

package e2e

import (
	"strings"
	"testing"

	"tipstaff/e2e/kit"
)

// TestAServerThatWasLeftBehindIsEndedAndTheWayOutIsNamed: what the answer says to do works.
// The control is a command that leaves nothing.
func TestAServerThatWasLeftBehindIsEndedAndTheWayOutIsNamed(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	for _, c := range []struct {
		call  kit.Reply
		names bool
	}{
		{s.Command("sh -c 'sleep 60 & echo begun'"), true},
		{s.Command("sh -c 'echo begun'"), false},
	} {
		if named := strings.Contains(c.call.Text, "nothing outlives its command") && strings.Contains(c.call.Text, "background: true"); named != c.names {
			t.Errorf("the way out is named: %v\n%s", named, c.call.Text)
		}
	}
	id := commandOf(t, s.Call("execute_command", kit.Args{"command": "sleep 60", "background": true}))
	if r := s.Call("stop_command", kit.Args{"command_id": id}); r.IsError {
		t.Errorf("%s", r.Text)
	}
}
