//go:build linux

package runner

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tipstaff"
)

// TestSoak runs a mixture of well and badly behaved commands and looks whether
// anything is left of them. TIPSTAFF_SOAK says how many (make soak: 20,000).
func TestSoak(t *testing.T) {
	n := 600
	if s := os.Getenv("TIPSTAFF_SOAK"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t)
	one := func(i int) {
		req := argv("true")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		live := Live{}
		switch i % 8 {
		case 1:
			req = tipstaff.Request{Argv: []string{"sleep", "60"}, Timeout: 5 * time.Millisecond}
		case 2:
			req, live = argv("sleep", "60"), Live{Started: cancel}
		case 3:
			req = argv("testcmd", "flood", "200000", "both")
		case 4:
			req = argv("testcmd", "daemon")
		case 5:
			req = argv("sh", "-c", "setsid sleep 60 & sleep 60 & :")
		case 6:
			req = tipstaff.Request{Argv: []string{"cat"}, Stdin: make([]byte, 100_000)}
		case 7:
			req = tipstaff.Request{Argv: []string{"head", "-c", "1000000000", "/dev/zero"}, Timeout: 20 * time.Millisecond}
		}
		g := b.grant(req)
		defer g.Close()
		if _, err := b.local.Run(ctx, g, live); err != nil {
			t.Error(err)
		}
	}
	for i := range 64 { // what is kept for the next commands is there now
		one(i)
	}
	fds, threads, _ := counts(t)
	// A place, with its zygote and a child that waits, is kept for as many as ran at
	// once, and some in reserve.
	const places = 8 + 2
	var next atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				one(int(i))
			}
		})
	}
	all.Wait()
	fds2, threads2, children2 := counts(t)
	// Orphans that ended by themselves are collected once a second.
	for limit := time.Now().Add(10 * time.Second); children2 > 2*places && time.Now().Before(limit); time.Sleep(50 * time.Millisecond) {
		fds2, threads2, children2 = counts(t)
	}
	if fds2 > fds+5*places || threads2 > threads+16 || children2 > 2*places {
		t.Errorf("descriptors %d → %d, threads %d → %d, %d children", fds, fds2, threads, threads2, children2)
	}
}

func counts(t *testing.T) (fds, threads, children int) {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		data, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		children += len(strings.Fields(string(data)))
	}
	return len(names), len(tasks), children
}
