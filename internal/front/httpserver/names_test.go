package httpserver

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// said sends a request exactly as it is written, which no client would do, and
// returns the answer.
func said(t *testing.T, url, request string) *http.Response {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("no answer to %q: %v", request, err)
	}
	_ = resp.Body.Close()
	return resp
}

// TestHardening6EveryHostAndOrigin is the matrix of what a browser, or an
// attacker whose name resolves to this machine, could send.
func TestHardening6EveryHostAndOrigin(t *testing.T) {
	o := options()
	o.Hosts, o.Origins = []string{"tipstaff.example", "[2001:db8::5]"}, []string{"https://app.example"}
	url := serveTCP(t, o)
	hosts := map[string]int{
		"127.0.0.1": 200, "127.0.0.1:1": 200, "127.9.9.9:80": 200, "localhost": 200, "LocalHost:65535": 200,
		"[::1]": 200, "[::1]:80": 200, "[::ffff:127.0.0.1]:80": 200, "tipstaff.example": 200, "TIPSTAFF.example:443": 200,
		"localhost.": 403, "localhost.:80": 403, "127.0.0.1.": 403, "tipstaff.example.": 403, // other names; browsers keep the dot
		"user@localhost": 400, "localhost@evil.example": 400, "evil.example@127.0.0.1:80": 400, "localhost:80@evil.example": 400,
		"0.0.0.0": 403, "0": 403, "2130706433": 403, "0x7f000001": 403, "127.1": 403, "[::]": 403, "10.0.0.1": 403,
		"evil.example": 403, "evil.example:80": 403, "x.localhost": 403, "localhost.evil.example": 403, "xtipstaff.example": 403,
		"": 403, ":80": 403, "localhost localhost": 400, "localhost/": 400,
	}
	for host, want := range hosts {
		request := fmt.Sprintf("GET /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer open sesame\r\n\r\n", host)
		if got := said(t, url, request).StatusCode; got != want {
			t.Errorf("Host %q: %d, not %d", host, got, want)
		}
	}
	origins := map[string]int{
		"http://localhost": 200, "https://localhost": 200, "http://localhost:3000": 200, "http://127.0.0.1:5": 200, "http://[::1]:5": 200,
		"https://app.example": 200,
		"http://app.example":  403, "https://app.example:443": 403, "https://app.example.": 403, "https://x.app.example": 403, "https://app.example/": 403,
		"null": 403, "": 403, "*": 403, "file://": 403, "localhost": 403, "//localhost": 403, "ftp://localhost": 403, "chrome-extension://localhost": 403,
		"http://localhost.": 403, "http://x.localhost": 403, "http://0.0.0.0": 403, "http://127.0.0.1.evil.example": 403,
		"http://evil.example@localhost": 403, "http://localhost@evil.example": 403, "http://localhost/path": 403, "http://localhost?": 403, "http://localhost#x": 403,
		"http://localhost, http://evil.example": 403, "http://localhost http://evil.example": 403, "http://10.0.0.1": 403, "http://[::1": 403,
	}
	for origin, want := range origins {
		for _, method := range []string{"GET", "OPTIONS"} {
			request := fmt.Sprintf("%s /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: %s\r\nAuthorization: Bearer open sesame\r\nAccess-Control-Request-Method: POST\r\n\r\n", method, origin)
			resp := said(t, url, request)
			want := want
			if method == "OPTIONS" && want == 200 {
				want = 204
			}
			allowed := resp.Header.Get("Access-Control-Allow-Origin")
			if resp.StatusCode != want || (allowed == origin) != (want < 300) && origin != "" || allowed == "*" || resp.Header.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s from %q: %d, not %d; %v", method, origin, resp.StatusCode, want, resp.Header)
			}
		}
	}
}

// TestHardening6WhatBelongsTogether has requests whose parts contradict each other.
func TestHardening6WhatBelongsTogether(t *testing.T) {
	url := serveTCP(t, options())
	const known = "Authorization: Bearer open sesame\r\n"
	for _, c := range []struct {
		what, request string
		want          int
	}{
		{"no Host", "GET /mcp HTTP/1.1\r\n" + known + "\r\n", 400},
		{"no Host in a version without", "GET /mcp HTTP/1.0\r\n" + known + "\r\n", 403},
		{"two of them", "GET /mcp HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n" + known + "\r\n", 400},
		{"another host in the first line", "GET http://evil.example/mcp HTTP/1.1\r\nHost: localhost\r\n" + known + "\r\n", 403},
		{"two origins", "GET /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nOrigin: https://evil.example\r\n" + known + "\r\n", 403},
		{"a good origin by a foreign name", "GET /mcp HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://localhost\r\n" + known + "\r\n", 403},
		{"a page that calls itself by its rebound name", "GET /mcp HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n" + known + "\r\n", 403},
		{"a good origin of another site", "GET /mcp HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-site\r\n" + known + "\r\n", 403},
		{"a preflight that nobody asks for", "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 401},
		{"a good page without a token", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nContent-Length: 0\r\n\r\n", 401},
	} {
		resp := said(t, url, c.request)
		if resp.StatusCode != c.want {
			t.Errorf("%s: %d", c.what, resp.StatusCode)
		}
		if readable := resp.Header.Get("Access-Control-Allow-Origin") != ""; readable && c.want == 403 {
			t.Errorf("%s: a page may read the refusal", c.what)
		}
	}
}
