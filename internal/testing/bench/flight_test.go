package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// flights is how many calls one round makes for each of both numbers in flight.
const flights = 4000

// flightCall is a call as a client of few means writes it: the client must not be what
// is measured.
const flightCall = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute_process","arguments":{"file":"true"}%s}}`

// flightRan is in the answer of a command that ran.
var flightRan = []byte(`exit_code: 0`)

// BenchmarkCallsInFlight: calls a second with many calls in flight against 16, in turn,
// on the same server, without a sandbox: over stdio on its one connection, over HTTP on a
// connection for each call; and over HTTP on the floor, which shows what thousands of
// connections cost by themselves. Budget: at least 0.8 ×.
func BenchmarkCallsInFlight(b *testing.B) {
	for _, over := range []struct {
		name  string
		start func(b *testing.B) (call func() bool)
	}{{"stdio", flyStdio}, {"http", flyHTTP("tipstaff")}, {"http-floor", flyHTTP("floor")}} {
		for _, many := range []int{500, 2000, 4000} {
			b.Run(fmt.Sprintf("%s/%d", over.name, many), func(b *testing.B) {
				call := over.start(b)
				round := func(inFlight int) time.Duration {
					begin := time.Now()
					var next, failed atomic.Int64
					var all sync.WaitGroup
					for range inFlight {
						all.Go(func() {
							for next.Add(1) <= flights {
								if !call() {
									failed.Add(1)
								}
							}
						})
					}
					all.Wait()
					if n := failed.Load(); n > 0 {
						b.Fatalf("%d of %d calls did not run with %d in flight", n, flights, inFlight)
					}
					return time.Since(begin)
				}
				round(16)
				round(many)
				var few, lots []time.Duration
				for b.Loop() {
					few = append(few, round(16))
					lots = append(lots, round(many))
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(flights/median(few).Seconds(), "16-calls/s")
				b.ReportMetric(flights/median(lots).Seconds(), "many-calls/s")
				b.ReportMetric(float64(median(few))/float64(median(lots)), "throughput-ratio")
			})
		}
	}
}

// flyStdio returns a function that makes one call over stdio.
func flyStdio(b *testing.B) func() bool {
	cmd := command(b, "tipstaff", "TIPSTAFF_SANDBOX=off")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	answers := bufio.NewReaderSize(out, 1<<20)
	_, _ = io.WriteString(in, strings.Split(listing, "\n")[0]+"\n"+strings.Split(listing, "\n")[1]+"\n")
	if _, err := answers.ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	var mu sync.Mutex
	waiting := map[int]chan bool{}
	id := 100
	go func() {
		for {
			line, err := answers.ReadSlice('\n')
			if err != nil {
				return
			}
			var n int
			at := bytes.Index(line, []byte(`"id":`))
			if _, err := fmt.Sscanf(string(line[at+5:min(at+20, len(line))]), "%d", &n); err != nil {
				continue
			}
			mu.Lock()
			waiting[n] <- bytes.Contains(line, flightRan)
			delete(waiting, n)
			mu.Unlock()
		}
	}()
	return func() bool {
		got := make(chan bool, 1)
		mu.Lock()
		id++
		waiting[id] = got
		_, err := fmt.Fprintf(in, flightCall+"\n", id, "")
		mu.Unlock()
		return err == nil && <-got
	}
}

// flyHTTP returns a function that starts a server, and returns one that makes one call
// over HTTP, in the stateless form of the protocol.
func flyHTTP(name string) func(b *testing.B) func() bool {
	return func(b *testing.B) func() bool { return flyTo(b, name) }
}

func flyTo(b *testing.B, name string) func() bool {
	s := startHTTP(b, name, "TIPSTAFF_SANDBOX=off", "TIPSTAFF_HTTP_CALLS=5000", "TIPSTAFF_HTTP_CONNECTIONS=8000", "TIPSTAFF_HTTP_RATE=1000000")
	client := &http.Client{Transport: bearer{&http.Transport{MaxIdleConnsPerHost: 8000, MaxIdleConns: 8000}}}
	body := fmt.Sprintf(flightCall, 1, `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`)
	return func() bool {
		req, err := http.NewRequest(http.MethodPost, s.url, strings.NewReader(body))
		if err != nil {
			return false
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "execute_process",
		} {
			req.Header.Set(name, value)
		}
		res, err := client.Do(req)
		if err != nil {
			b.Log(err)
			return false
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		if err != nil || !bytes.Contains(text, flightRan) {
			b.Logf("%s %v %.300s", res.Status, err, text)
			return false
		}
		return true
	}
}
