//go:build unix && !race

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// slowOnes is how many slow connections the test opens.
const slowOnes = 10_000

// What they may cost: with the usual number of connections, where the longest
// silent ones are replaced, and where the operator admits all of them.
const (
	slowCost    = 160 << 20 // on an idle machine 32 MiB, and 247 where all stay; 106 were seen on a busy one
	slowCostAll = 400 << 20
)

// TestTenThousandSlowConnections lets a good client run commands past connections
// that say nothing, half a header, half a body, or do not read their answer.
func TestTenThousandSlowConnections(t *testing.T) {
	testcmdtest.Long(t)
	wantDescriptors(t, slowOnes+1000)
	for _, c := range []struct {
		what string
		env  []string
		cost int64
	}{
		{"of which a thousand may stay", nil, slowCost},
		{"which all may stay", []string{"TIPSTAFF_HTTP_CONNECTIONS=15000"}, slowCostAll},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := serveHTTP(t, setup{env: c.env})
			good := w.as(master, stateless)
			good.Command("echo warm").Ran()
			before := footprintOf(w.Server)
			slow := w.slowConnections(slowOnes)
			for i := range 30 {
				begin := time.Now()
				r := good.Command("echo still here")
				if took := time.Since(begin); r.IsError || took > heldUp {
					t.Errorf("call %d took %s: %s", i, took, r.Text)
				}
			}
			// New clients get in as well: they connect among the slow ones.
			if r := w.as(alices, stateful).Command("echo me too"); r.IsError {
				t.Errorf("%+v", r)
			}
			cost := memory(w.Server, "VmHWM") - before.resident
			t.Logf("%d slow connections cost %d MiB", slowOnes, cost>>20)
			if cost > c.cost {
				t.Errorf("that is more than %d MiB", c.cost>>20)
			}
			for _, s := range slow {
				_ = s.Close()
			}
			wantFootprint(t, w.Server, before, 3*(4*runtime.NumCPU()+2), 16, 8*c.cost) // three callers; the memory was checked above
			if r := good.Command("echo over"); r.IsError {
				t.Errorf("afterwards: %+v", r)
			}
		})
	}
}

// wantDescriptors skips the test where not enough files can be open.
func wantDescriptors(t *testing.T, n uint64) {
	t.Helper()
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	if l.Cur < n && l.Max >= n {
		old := l
		l.Cur = l.Max
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old) })
	}
	if l.Cur < n {
		t.Skipf("a process may have %d files open here, and the test needs %d", l.Max, n)
	}
}

// slowConnections opens n connections, from several addresses of this machine.
func (w *webServer) slowConnections(n int) []net.Conn {
	w.T.Helper()
	address := strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), "/mcp")
	conns := make([]net.Conn, n)
	var all sync.WaitGroup
	for worker := range 32 {
		all.Go(func() {
			d := net.Dialer{Timeout: 20 * time.Second}
			if runtime.GOOS == "linux" { // all of 127.0.0.0/8 is this machine
				d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+worker%8))}
			}
			for i := worker; i < n; i += 32 {
				c, err := d.DialContext(context.Background(), "tcp", address)
				if err != nil {
					w.T.Errorf("connection %d: %v", i, err)
					return
				}
				conns[i] = c
				_, _ = io.WriteString(c, w.half(i)) // the server may have closed it
			}
		})
	}
	all.Wait()
	if w.T.Failed() {
		w.T.FailNow()
	}
	return conns
}

// half returns the incomplete request of a slow connection.
func (w *webServer) half(i int) string {
	const (
		post   = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
		modern = "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: execute_process\r\n"
		call   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_process","arguments":{"file":"testcmd","args":["flood","900000"],"raw":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"slow","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	)
	switch {
	case i%500 == 0: // asks for a large answer, and reads nothing of it
		return fmt.Sprintf("%s%sAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", post, modern, alices, len(call), call)
	case i%100 == 1: // an authenticated caller that sends half a body
		return fmt.Sprintf("%sAuthorization: Bearer %s\r\nContent-Length: 2000000\r\n\r\n{", post, bobs)
	case i%4 == 1:
		return post + "X-Slow: "
	case i%4 == 2:
		return post + "Content-Length: 100\r\n\r\n{"
	case i%4 == 3:
		return "P"
	}
	return ""
}
