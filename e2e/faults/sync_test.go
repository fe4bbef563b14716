//go:build linux && !race

package faults

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// synced counts how often a server tells the kernel to bring a file to the disk
// while something is done.
func (n *nats) synced(t *testing.T, do func()) int {
	t.Helper()
	out := filepath.Join(t.TempDir(), "trace")
	var says lines
	cmd := exec.Command("strace", "-f", "-e", "trace=fsync,fdatasync", "-o", out, "-p", strconv.Itoa(n.pid()))
	cmd.Stderr = &says
	must(t, cmd.Start()) // it takes strace: apt-get install strace
	defer func() { _ = cmd.Process.Kill() }()
	eventually(t, "strace looks at "+n.name(), 20*time.Second, func() bool { return strings.Contains(says.String(), "attached") }, says.String)
	do()
	must(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait() // it ends with the signal
	text, err := os.ReadFile(out)
	must(t, err)
	return bytes.Count(text, []byte("sync("))
}

// syncs counts for each server while so many records are put, and tells the most and
// the least.
func syncs(t *testing.T, all []*nats, put func()) (most, least int) {
	t.Helper()
	var counts []int
	for _, n := range all {
		counts = append(counts, n.synced(t, put))
	}
	t.Logf("the servers synced %v times", counts)
	return slices.Max(counts), slices.Min(counts)
}

// TestWhatIsAcknowledgedIsOnTheDisk: by the configuration that is printed, the leader
// of a stream syncs for each record before it is acknowledged, and the others for
// what they get, which can be several at once. With the servers' own default none
// does, which is the control.
func TestWhatIsAcknowledgedIsOnTheDisk(t *testing.T) {
	needNamespaces(t)
	notOfTheSix(t)
	const records = 20
	f := &fleet{t: t, dir: t.TempDir(), bin: tipstaff(t), lan: newLAN(t)}
	f.engine = f.cluster(natsServer(t), f.keys())
	s := f.streams()
	put := func() {
		for range records {
			eventually(t, "a record", time.Minute, func() bool { return s.put(100) == nil }, func() string { return "" })
		}
	}
	if most, least := syncs(t, f.engine, put); most < records || least < records/4 {
		t.Errorf("for %d records a server syncs %d times, and another %d times", records, most, least)
	}
	for _, n := range f.engine {
		text, err := os.ReadFile(n.conf)
		must(t, err)
		lazy := bytes.Replace(text, []byte("sync_interval: always"), []byte(`sync_interval: "2m"`), 1)
		if bytes.Equal(lazy, text) {
			t.Fatalf("this is not configured:\n%s", text)
		}
		must(t, os.WriteFile(n.conf, lazy, 0o600))
		n.stop(20 * time.Second)
		n.start()
		eventually(t, n.name()+" listens", time.Minute, n.listens, func() string { return n.tail(20) })
	}
	eventually(t, "a record again", time.Minute, func() bool { return s.put(100) == nil }, func() string { return "" })
	if most, _ := syncs(t, f.engine, put); most >= records/4 {
		t.Errorf("with the default a server syncs %d times: this test would not find one that does not", most)
	}
	for _, n := range f.engine {
		n.stop(20 * time.Second)
	}
}
