//go:build unix && !race

package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// hostile is one request that no client of the protocol would send.
type hostile struct {
	what   string
	first  string // line; "" is POST /mcp
	header string // lines that each end with CRLF, in addition to the usual ones
	bare   bool   // without the usual ones
	body   io.Reader
	length string // "": that of the body if it is a string; "chunked": none
	want   []int  // accepted statuses; none: the server may hang up instead
}

// repeat returns n equal bytes without storing them.
func repeat(c byte, n int64) io.Reader { return io.LimitReader(same(c), n) }

type same byte

func (s same) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(s)
	}
	return len(p), nil
}

// marked is an argument that none of the requests may make the server run.
const marked = "must-not-run"

func runIt(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"execute_process","arguments":{"file":"echo","args":["` + marked + `"]}}}`
}

// hostiles returns the requests, for an open session of the protocol.
func hostiles(session string) []hostile {
	in := "Mcp-Session-Id: " + session + "\r\n"
	modern := "Mcp-Protocol-Version: 2026-07-28\r\n"
	text := func(s string) io.Reader { return strings.NewReader(s) }
	many, _ := json.Marshal(make([]string, 100_000)) // strings can always be written as JSON
	deep := strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000)
	call := func(arguments string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_process","arguments":` + arguments + `}}`
	}
	return []hostile{
		{what: "a header of 1 MB", header: in + "X-Bomb: " + strings.Repeat("x", 1<<20) + "\r\n", body: text(runIt("1")), want: []int{431}},
		{what: "100,000 headers", header: in + strings.Repeat("X: y\r\n", 100_000), body: text(runIt("1")), want: []int{431}},
		{what: "a path of 1 MB", first: "POST /" + strings.Repeat("x", 1<<20), body: text(runIt("1")), want: []int{431, 414}},
		{what: "33 MB that say so", header: in, body: repeat(' ', 33<<20), length: fmt.Sprint(33 << 20), want: []int{413}},
		{what: "33 MB that do not", header: in, body: repeat(' ', 33<<20), length: "chunked", want: []int{413}},
		{what: "a body without end", header: in, body: same('['), length: "chunked", want: []int{413}},
		{what: "a length beyond all numbers", header: in, body: text("{}"), length: "99999999999999999999", want: []int{400}},
		{what: "a length below nothing", header: in, body: text("{}"), length: "-1", want: []int{400}},
		{what: "two lengths", header: in + "Content-Length: 2\r\n", body: text(runIt("1")), want: []int{400}},
		{what: "a chunk that is none", header: in + "Transfer-Encoding: chunked\r\n", body: text("zz\r\n" + runIt("1")), length: "none", want: []int{400}},
		{what: "an encoding that is none", header: in + "Transfer-Encoding: gzip\r\n", body: text(runIt("1")), length: "none", want: []int{400, 501}},
		{what: "deep JSON", header: in, body: text(deep), want: []int{400}},
		{what: "deep arguments", header: in, body: text(call(`{"file":"echo","args":` + deep + `}`)), want: []int{400}},
		{what: "100,000 arguments", header: in, body: text(call(`{"file":"` + marked + `","args":` + string(many) + `}`)), want: []int{200}},
		{what: "invalid UTF-8", header: in, body: text(call(`{"file":"echo","args":["` + marked + "\xff\xfe" + `"]}`)), want: []int{200, 400}},
		{what: "half a character", header: in, body: text(call(`{"file":"echo","args":["` + marked + `\ud800"]}`)), want: []int{200, 400}},
		{what: "a name that stands twice", header: in, body: text(`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"` + marked + `"}}`), want: []int{200, 400}},
		{what: "an id that is an object", header: in, body: text(runIt("{}")), want: []int{400}},
		{what: "an id beyond all numbers", header: in, body: text(runIt("1e999")), want: []int{400}},
		{what: "no id", header: in, body: text(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"execute_process","arguments":{"file":"echo","args":["` + marked + `"]}}}`), want: []int{400, 202}},
		{what: "a batch in a version without", header: in + "Mcp-Protocol-Version: 2025-11-25\r\n", body: text("[" + runIt("1") + "," + runIt("1") + "]"), want: []int{400}},
		{what: "a batch in the newest version", header: modern, body: text("[" + runIt("1") + "]"), want: []int{400}},
		{what: "a batch without a session", body: text("[" + runIt("1") + "]"), want: []int{400}},
		{what: "a call without a session", body: text(runIt("1")), want: []int{400}},
		{what: "a session that is garbage", header: "Mcp-Session-Id: ../../etc/passwd\x01\r\n", body: text(runIt("1")), want: []int{400, 404}},
		{what: "a session of 10 kB", header: "Mcp-Session-Id: " + strings.Repeat("x", 10_000) + "\r\n", body: text(runIt("1")), want: []int{404}},
		{what: "a version that is garbage", header: in + "Mcp-Protocol-Version: \xff'; DROP\r\n", body: text(runIt("1")), want: []int{400}},
		{what: "a version of the future", header: "Mcp-Protocol-Version: 9999-12-31\r\n", body: text(runIt("1")), want: []int{400}},
		{what: "a newest version that its body does not name", header: modern + "Mcp-Method: tools/call\r\nMcp-Name: execute_process\r\n", body: text(runIt("1")), want: []int{400}},
		{what: "headers that name another tool", header: modern + "Mcp-Method: tools/list\r\n", body: text(runIt("1")), want: []int{400}},
		{what: "a place in a stream that is garbage", first: "GET /mcp", header: in + "Last-Event-ID: \x7f_../..\r\n", want: []int{400, 404, 409}},
		{what: "a place in another stream", first: "GET /mcp", header: in + "Last-Event-ID: AAAAAAAAAAAAAAAAAAAAAAAAAA_999999999999\r\n", want: []int{400, 404, 409}},
		{what: "a form", header: in + "Content-Type: application/x-www-form-urlencoded\r\nAccept: */*\r\n", bare: true, body: text(runIt("1")), want: []int{415}},
		{what: "plain text", header: in + "Content-Type: text/plain\r\nAccept: */*\r\n", bare: true, body: text(runIt("1")), want: []int{415}},
		{what: "no type", header: in, bare: true, body: text(runIt("1")), want: []int{415, 400}},
		{what: "PUT", first: "PUT /mcp", header: in, body: text(runIt("1")), want: []int{405}},
		{what: "PATCH", first: "PATCH /mcp", header: in, body: text(runIt("1")), want: []int{405}},
		{what: "CONNECT", first: "CONNECT localhost:22", want: []int{400, 403, 404, 405}},
		{what: "a method that is none", first: "EXEC /mcp", header: in, body: text(runIt("1")), want: []int{405}},
		{what: "another path", first: "POST /mcp/../mcp/x", header: in, body: text(runIt("1")), want: []int{301, 307, 404}},
		{what: "half JSON", header: in, body: text(`{"jsonrpc":"2.0","id":1,"method":"tools/call"`), want: []int{400}},
		{what: "zeros", header: in, body: repeat(0, 10_000), length: "10000", want: []int{400}},
		{what: "an answer that nobody waits for", header: in, body: text(`{"jsonrpc":"2.0","id":77,"result":{"name":"` + marked + `"}}`), want: []int{202, 400}},
		{what: "no HTTP", first: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", bare: true, want: []int{400}},
	}
}

// send sends a request and returns the status; 0 if the server has hung up.
func (h hostile) send(t *testing.T, address, token string) int {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(60 * time.Second)); err != nil {
		t.Fatal(err)
	}
	go h.write(c, token) // the server may answer before it has read everything
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		t.Fatalf("%s: no answer", h.what)
	}
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func (h hostile) write(c net.Conn, token string) {
	first, header, length := h.first, h.header, h.length
	if first == "" {
		first = "POST /mcp"
	}
	header += "Host: localhost\r\n"
	if token != "" {
		header += "Authorization: Bearer " + token + "\r\n"
	}
	if !h.bare {
		header += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	}
	if s, ok := h.body.(*strings.Reader); ok && length == "" {
		length = fmt.Sprint(s.Len())
	}
	body := h.body
	switch {
	case length == "chunked":
		header += "Transfer-Encoding: chunked\r\n"
		in, out := io.Pipe()
		go func() { _ = out.CloseWithError(chunked(out, h.body)) }()
		defer func() { _ = in.Close() }()
		body = in
	case length != "" && length != "none":
		header += "Content-Length: " + length + "\r\n"
	}
	if _, err := io.WriteString(c, first+" HTTP/1.1\r\n"+header+"\r\n"); err == nil && body != nil {
		_, _ = io.Copy(c, body) // until the server hangs up
	}
}

// chunked writes a body in chunks of 32 kB.
func chunked(w io.Writer, body io.Reader) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := io.ReadFull(body, buf)
		if _, failed := fmt.Fprintf(w, "%x\r\n%s\r\n", n, buf[:n]); failed != nil || n == 0 {
			return failed
		}
		if err != nil {
			_, err = io.WriteString(w, "0\r\n\r\n")
			return err
		}
	}
}

// hostileCost is how much memory above idle all of it may cost.
const hostileCost = 200 << 20

func TestOversizedAndMalformedOverHTTP(t *testing.T) {
	t.Parallel()
	w := serveHTTP(t, setup{})
	good := w.as(alices, stateless)
	good.Command("echo warm").Ran()
	before := footprintOf(w.Server)
	address := strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), "/mcp")
	opened, _ := w.fetch("POST", "/mcp", master, hello)
	session := opened.Header.Get("Mcp-Session-Id")
	for _, token := range []string{master, ""} {
		for _, h := range hostiles(session) {
			status := h.send(t, address, token)
			switch {
			case status >= 500 && status != 501 || status == 200 && token == "":
				t.Errorf("%s (token %v): %d", h.what, token != "", status)
			case token != "" && !right(status, h.want):
				t.Errorf("%s: %d, not %v", h.what, status, h.want)
			}
		}
	}
	cost := memory(w.Server, "VmHWM") - before.resident
	t.Logf("it cost %d MiB", cost>>20)
	if cost > hostileCost {
		t.Errorf("that is more than %d MiB", hostileCost>>20)
	}
	if r := good.Command("echo on"); r.IsError {
		t.Errorf("afterwards: %+v", r)
	}
	good.Process("echo", []string{marked}).Ran() // a control: the argument would be found
	var ran []string
	for _, rec := range w.Records() {
		if line, _ := json.Marshal(rec); rec["event"] == "command.start" && strings.Contains(string(line), marked) {
			ran = append(ran, string(line))
		}
	}
	if len(ran) != 1 {
		t.Errorf("it has run: %q", ran)
	}
}

// right treats a server that hung up before it had read everything as one that
// has refused.
func right(status int, want []int) bool {
	for _, s := range want {
		if s == status || status == 0 && (s == 413 || s == 431 || s == 400) {
			return true
		}
	}
	return false
}
