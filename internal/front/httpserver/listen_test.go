package httpserver

import (
	"net"
	"strings"
	"testing"
)

func TestAnAddressOfIPv4IsNoneOfIPv6(t *testing.T) {
	for address, want := range map[string]string{"0.0.0.0:0": "0.0.0.0:", "127.0.0.1:0": "127.0.0.1:", ":0": "127.0.0.1:", "[::]:0": "[::]:"} {
		l, err := Open(t.Context(), address, "", "")
		if err != nil {
			if address == "[::]:0" {
				t.Logf("no control: this machine has no IPv6: %v", err)
				continue
			}
			t.Fatal(err)
		}
		got := l.Addresses()[0].Text
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s listens at %s", address, got)
		}
		_, port, _ := net.SplitHostPort(got)
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp6", "[::1]:"+port)
		if (err == nil) != (address == "[::]:0") {
			t.Errorf("%s over IPv6: %v", address, err)
		}
		if err == nil {
			_ = c.Close()
		}
		_ = l.Close()
	}
}

func TestTheEndpointMayHaveASlashAtItsEnd(t *testing.T) {
	url := serveTCP(t, options())
	for path, want := range map[string]int{"/mcp": 200, "/mcp/": 200, "/mcp/x": 404, "/mcp//": 404, "/mcpx": 404} {
		resp, body := ask(t, "GET", url+path)
		if resp.StatusCode != want && (path != "/mcp//" || resp.Request.URL.Path != "/mcp/") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
}
