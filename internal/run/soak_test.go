//go:build linux && (amd64 || arm64)

package run

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// TestSoak runs a mixture of well and badly behaved commands and checks that
// nothing is left of them. TIPSTAFF_SOAK is their number (make soak: 20,000).
func TestSoak(t *testing.T) {
	testcmdtest.Long(t)
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
		var talking sync.WaitGroup
		defer talking.Wait()
		switch i % 12 {
		case 1:
			req = tipstaff.Request{Argv: []string{"sleep", "60"}, Timeout: 5 * time.Millisecond}
		case 2:
			req, live = argv("sleep", "60"), Live{Observer: Observer{Started: cancel}}
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
		case 8:
			req = tipstaff.Request{Argv: []string{"sh", "-c", "seq 1000; testcmd hold"}, Terminal: &tipstaff.TerminalSize{}}
		case 9:
			req = tipstaff.Request{Argv: []string{"cat"}, Terminal: &tipstaff.TerminalSize{}, Timeout: 20 * time.Millisecond}
		case 10:
			req, live = background("cat"), Live{Observer: Observer{Controls: func(c Controls) {
				talking.Go(func() {
					_, _ = c.Input(ctx, make([]byte, 100_000))
					_, _ = c.WaitsForInput(), c.Signal(syscall.SIGKILL)
				})
			}}}
		case 11:
			req, live = inBackground(tipstaff.Request{Argv: []string{"sh", "-c", "cat; setsid cat & cat"}, Terminal: &tipstaff.TerminalSize{}}), Live{Observer: Observer{Controls: func(c Controls) {
				talking.Go(func() {
					_, _ = c.Input(ctx, []byte("text\n"))
					_, _ = c.CloseInput(), c.Signal(syscall.SIGTERM)
				})
			}}}
		}
		g := b.grant(req)
		defer g.Close()
		if _, err := b.local.Run(ctx, g, live); err != nil {
			t.Error(err)
		}
	}
	for i := range 64 { // everything that is kept for later commands exists afterwards
		one(i)
	}
	before := soakHoldings(t)
	// A place, with its zygote, is kept for as many as ran at once, and some in
	// reserve.
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
	after := soakHoldings(t)
	// Orphans that ended by themselves are collected once a second.
	for limit := time.Now().Add(10 * time.Second); after.children > places && time.Now().Before(limit); time.Sleep(50 * time.Millisecond) {
		after = soakHoldings(t)
	}
	t.Logf("%+v became %+v", before, after)
	if after.descriptors > before.descriptors+5*places || after.threads > before.threads+16 || after.children > places ||
		after.goroutines > before.goroutines+places || after.mappings > before.mappings+8*places || after.heapBytes > before.heapBytes+4<<20 {
		t.Errorf("%d commands have left something", n)
	}
}

type held struct {
	descriptors, threads, children, goroutines, mappings int
	heapBytes                                            int64
}

func soakHoldings(t *testing.T) held {
	t.Helper()
	return held{
		descriptors: testcmdtest.Descriptors(t), threads: testcmdtest.Threads(t), children: len(testcmdtest.Children()),
		goroutines: runtime.NumGoroutine(), mappings: testcmdtest.Mappings(t), heapBytes: testcmdtest.HeapBytes(),
	}
}
