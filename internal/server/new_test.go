//go:build linux

package server_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tipstaff/internal/front/mcpserver"
	"tipstaff/internal/server"
	"tipstaff/internal/server/config"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

func TestMain(m *testing.M) { os.Exit(testcmdtest.Contain(m, func() error { return nil })) }

// TestAWholeServerIsMadeInATest, without a process and a front of its own: it decides,
// runs, refuses and records as the program does.
func TestAWholeServerIsMadeInATest(t *testing.T) {
	state := t.TempDir()
	settings, err := config.FromEnvironment([]string{
		"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "ALLOWED_COMMANDS=echo", "TIPSTAFF_STATE_DIR=" + state, "TIPSTAFF_SANDBOX=off",
	})
	if err != nil {
		t.Fatal(err)
	}
	st, err := server.New(settings, server.NewLog(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcpserver.Connect(t.Context(), st.Front(), "test")
	if err != nil {
		st.Close("the client could not connect")
		t.Fatal(err)
	}
	for line, want := range map[string]string{"echo it runs": "it runs", "id": "COMMAND_NOT_ALLOWED"} {
		input, _ := json.Marshal(map[string]string{"command": line})
		answer, err := client.Call(t.Context(), "execute_command", input)
		if err != nil || !strings.Contains(answer.Text, want) || answer.IsError == (line != "id") {
			t.Errorf("%s: %v, %q, an error: %t", line, err, answer.Text, answer.IsError)
		}
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	st.Close("the test is over")
	trails, err := filepath.Glob(filepath.Join(state, "audit", "*", "*.jsonl"))
	if err != nil || len(trails) != 1 {
		t.Fatalf("%d trails: %v", len(trails), err)
	}
	record, err := os.ReadFile(trails[0])
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, event := range []string{"server.start", "command.", "command.", "server.stop"} {
		next := strings.Index(string(record)[at:], `"event":"`+event)
		if next < 0 {
			t.Fatalf("the record has no further %s:\n%s", event, record)
		}
		at += next + 1
	}
	for _, event := range []string{"command.start", "command.end", "command.refused"} {
		if n := strings.Count(string(record), `"event":"`+event); n != 1 {
			t.Errorf("%d records of %s:\n%s", n, event, record)
		}
	}
}
