package egress

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

func FuzzParseHosts(f *testing.F) {
	for _, list := range []string{
		"", "registry.npmjs.org", "*.Example.org.:8443,example.org", "10.0.0.0/8:80,fd00::/8", "[::1]:8080, 192.0.2.7",
		"https://example.org/", "a@b", "*", "on", "127.1", "[::ffff:1.2.3.4]", "bücher.example", "a..b", "0.0.0.0/0", "\xff", "[fe80::1%lo]",
	} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		h, err := ParseHosts(list)
		if err != nil {
			if len(h.entries) > 0 {
				t.Errorf("entries with the error %v", err)
			}
			return
		}
		again, err := ParseHosts(h.String())
		if err != nil || again.String() != h.String() {
			t.Fatalf("%q became %q, which became %q, %v", list, h, again, err)
		}
		for _, e := range h.entries {
			if e.name == "" && (!e.prefix.IsValid() || e.prefix.Bits() == 0) || e.name != "" && checkName(e.name) != nil {
				t.Errorf("%q has the entry %+v", list, e)
			}
		}
		for i := range len(list) {
			if list[i] >= 0x80 {
				t.Errorf("%q is not ASCII", list)
			}
		}
	})
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"example.org:443", "[::1]:80", "127.0.0.1:1", "EXAMPLE.org.:65535", "a@b:1", "[::1]x:1", "0x7f.1:80", "a\x00b:1", ":1", "[a]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parseTarget(s, 0)
		if err != nil {
			return
		}
		again, err := parseTarget(got.String(), 0)
		if err != nil || again != got || got.port == 0 || (got.name == "") != got.addr.IsValid() {
			t.Fatalf("%q became %+v, which became %+v, %v", s, got, again, err)
		}
		host, _, err := net.SplitHostPort(s)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if host = strings.ToLower(strings.TrimSuffix(host, ".")); got.name != "" && host != got.name {
			t.Errorf("%q became %q", s, got.name)
		}
	})
}

func FuzzReadHello(f *testing.F) {
	hello := helloFor(f, "good.example")
	f.Add(hello)
	f.Add(records(hello, 7))
	f.Add(append([]byte{0x15, 3, 1, 0, 2, 1, 90}, hello...))
	f.Add(append(hello[:len(hello):len(hello)], "and more"...))
	f.Add(hello[:100])
	f.Add([]byte{0x80, 0x2e, 1, 3, 1})
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, words []byte) {
		read, name, err := readHello(nil, bytes.NewReader(words))
		if !bytes.HasPrefix(words, read) {
			t.Fatal("what was read is not what was written")
		}
		if err != nil {
			if len(read) > 0 || name != "" {
				t.Errorf("%d bytes and the name %q with the error %v", len(read), name, err)
			}
			return
		}
		slowly, again, err := readHello(nil, iotest.OneByteReader(bytes.NewReader(words)))
		if err != nil || again != name || !bytes.HasPrefix(read, slowly) {
			t.Errorf("byte by byte: %q and %v instead of %q", again, err, name)
		}
	})
}

// FuzzAsked looks for requests that are accepted although they name two hosts.
func FuzzAsked(f *testing.F) {
	for _, s := range []string{
		"GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n",
		"GET http://good.example:8080/ HTTP/1.0\r\n\r\n",
		"CONNECT good.example:443 HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST http://good.example/ HTTP/1.1\nHost: good.example\nContent-Length: 1\nTransfer-Encoding: chunked\n\n0\r\n\r\n",
		"GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\n Host: evil.example\r\n \r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, words []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(words)))
		end := blankLine(words)
		if err != nil || end < 0 {
			return
		}
		got, err := parseRequest(r, words[:end])
		if err != nil {
			return
		}
		if got.name != "" && checkName(got.name) != nil || got.port == 0 {
			t.Errorf("a request for %+v", got)
		}
		if r.Method == http.MethodConnect {
			if to, err := parseTarget(r.RequestURI, 0); err != nil || to != got {
				t.Errorf("CONNECT %s is a request for %s", r.RequestURI, got)
			}
			return
		}
		if to, err := parseTarget(r.URL.Host, 80); err != nil || to != got {
			t.Errorf("%s is a request for %s", r.RequestURI, got)
		}
		for line := range bytes.Lines(words[:end]) {
			field := strings.TrimSpace(lower(string(line)))
			if host, ok := strings.CutPrefix(field, "host:"); ok {
				if to, err := parseTarget(strings.TrimSpace(host), 80); err != nil || to != got {
					t.Errorf("the field %q came with a request for %s", field, got)
				}
			}
		}
	})
}
