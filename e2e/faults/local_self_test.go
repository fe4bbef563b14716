//go:build linux && !race

package faults

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"
)

// TestAgentsUnderstandASingleMachine: the agents and their ledger, on a server
// that is no fleet and does not break. Everything has to go well there.
func TestAgentsUnderstandASingleMachine(t *testing.T) {
	needNamespaces(t)
	notOfTheSix(t)
	f := &fleet{t: t, dir: t.TempDir(), bin: tipstaff(t), lan: newLAN(t), ledger: newLedger(), killed: map[string]bool{}}
	f.witness()
	f.tokens()
	m := f.place("alone", 99)
	m.argv = []string{f.bin, "serve", "--http", m.on.addr + ":7075"}
	m.env = append(f.ordinary(m), "TIPSTAFF_TOKENS_FILE="+filepath.Join(f.dir, "tokens.yaml"), "TIPSTAFF_HTTP_RATE=100000")
	f.runners, f.urls = []*member{m}, []string{"http://" + m.on.addr + ":7075/mcp"}
	m.start()
	eventually(t, "it is ready", time.Minute, func() bool { return f.ready(m) }, func() string { return m.tail(20) })
	stop := f.agents(4, "quiet")
	time.Sleep(5 * time.Second) // so long they work
	stop()
	m.stop(30 * time.Second)
	started := f.started()
	count := f.ledger.since(time.Time{})
	t.Logf("%d started; %s", len(started), tally(count))
	for _, wrong := range f.ledger.broken(started, nil) {
		t.Error(wrong)
	}
	if len(count) != 1 || count["well"] < 20 {
		t.Errorf("not everything went well: %s\n%s", tally(count), m.tail(20))
	}
	f.trails()
	http.DefaultClient.CloseIdleConnections()
}
