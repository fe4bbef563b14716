package egress

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// handled is an internet in which good.example is served by a handler.
func handled(t testing.TB, h http.HandlerFunc) (proxy string, w *internet) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	w = newInternet()
	w.host("good.example", public1, s.Listener.Addr().String(), 80)
	proxy, _ = w.proxy(t, "good.example")
	return proxy, w
}

func TestAPlainRequestArrivesAsItWasMeant(t *testing.T) {
	proxy, _ := handled(t, func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			fmt.Fprintf(w, "%s: %s\n", name, r.Header.Get(name))
		}
		fmt.Fprintf(w, "%s %s %s", r.Method, r.Host, r.RequestURI)
	})
	conn := dialProxy(t, proxy).say("GET http://GOOD.example:80/a%2Fb?x=1;y=%zz HTTP/1.1\r\nHost: good.EXAMPLE.\r\n" +
		"Proxy-Connection: keep-alive\r\nConnection: X-Mine, close\r\nX-Mine: hop\r\nX-Forwarded-For: me\r\nKeep-Alive: 5\r\nAccept: a, b\r\n\r\n")
	resp, text := conn.answer("GET")
	if resp.StatusCode != 200 {
		t.Fatal(resp.Status, text)
	}
	contains(t, text, "GET good.example /a%2Fb?x=1;y=%zz")
	contains(t, text, "Accept: a, b\n")
	contains(t, text, "X-Forwarded-For: me\n")
	for _, gone := range []string{"Proxy-", "X-Mine", "Keep-Alive", "User-Agent", "s3cret", "dGlw", "Accept-Encoding", "Via"} {
		if strings.Contains(text, gone) {
			t.Errorf("%s arrived: %s", gone, text)
		}
	}
}

func TestTheAnswersOfAHostAreItsOwn(t *testing.T) {
	proxy, _ := handled(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Tipstaff-Refused", "host")
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(418)
		io.WriteString(w, "teapot")
		w.Header().Set("X-Sum", "6")
	})
	resp, text := get(t, through(t, proxy), "http://good.example/")
	if resp.StatusCode != 418 || text != "teapot" || resp.Trailer.Get("X-Sum") != "6" {
		t.Error(resp.Status, text, resp.Trailer)
	}
	if got := resp.Header.Get("X-Tipstaff-Refused"); got != "" {
		t.Errorf("the host spoke in our name: %q", got)
	}
}

func TestAnswersAreStreamed(t *testing.T) {
	more := make(chan bool)
	proxy, _ := handled(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "first\n")
		http.NewResponseController(w).Flush()
		<-more
		io.WriteString(w, "second\n")
	})
	resp, err := through(t, proxy).Get("http://good.example/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r := bufio.NewReader(resp.Body)
	if line, err := r.ReadString('\n'); line != "first\n" {
		t.Fatal(line, err)
	}
	close(more)
	if line, err := r.ReadString('\n'); line != "second\n" {
		t.Fatal(line, err)
	}
}

func TestBodiesArePassedOn(t *testing.T) {
	proxy, _ := handled(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, " ", err, " ", r.ContentLength, " ", r.Trailer.Get("X-Sum"))
	})
	big := bytes.Repeat([]byte("x"), 3<<20)
	client := through(t, proxy)
	for _, c := range []struct {
		says string
		body io.Reader
		set  func(*http.Request)
		want string
	}{
		{"with a length", bytes.NewReader(big), func(*http.Request) {}, "3145728 <nil> 3145728 "},
		{"in chunks", io.MultiReader(bytes.NewReader(big)), func(*http.Request) {}, "3145728 <nil> -1 "},
		{"in chunks with a trailer", io.MultiReader(bytes.NewReader(big)), func(r *http.Request) { r.Trailer = http.Header{"X-Sum": {"7"}} }, "3145728 <nil> -1 7"},
		{"when it is wanted", bytes.NewReader(big), func(r *http.Request) { r.Header.Set("Expect", "100-continue") }, "3145728 <nil> 3145728 "},
	} {
		t.Run(c.says, func(t *testing.T) {
			req, _ := http.NewRequest("PUT", "http://good.example/", c.body)
			c.set(req)
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if got := text(t, resp); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A refusal closes the connection while the program is still sending.
func TestARefusedUploadHearsWhy(t *testing.T) {
	proxy, _ := newInternet().proxy(t, "good.example")
	for range 5 {
		req, _ := http.NewRequest("PUT", "http://evil.example/", bytes.NewReader(make([]byte, 400<<10)))
		resp, err := through(t, proxy).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, resp); resp.StatusCode != 403 || !strings.Contains(got, "evil.example is not in the network list") {
			t.Error(resp.Status, got)
		}
	}
}

func TestWhatHasTwoMeaningsIsRefused(t *testing.T) {
	var arrived string
	proxy, w := handled(t, func(w http.ResponseWriter, r *http.Request) { arrived = r.RequestURI })
	w.host("evil.example", public2, w.routes[public1+":80"], 80)
	const get = "GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\n"
	const post = "POST http://good.example/ HTTP/1.1\r\nHost: good.example\r\n"
	const conn = "CONNECT good.example:80 HTTP/1.1\r\nHost: good.example:80\r\n"
	for _, c := range []struct{ says, request, want string }{
		{"another Host", "GET http://good.example/ HTTP/1.1\r\nHost: evil.example\r\n" + "\r\n", "the Host field is not the host of the URL, good.example:80"},
		{"another port in Host", "GET http://good.example/ HTTP/1.1\r\nHost: good.example:8080\r\n" + "\r\n", "the Host field"},
		{"another Host, from an old client", "GET http://good.example/ HTTP/1.0\r\nHost: evil.example\r\n" + "\r\n", "the Host field"},
		{"an empty Host", "GET http://good.example/ HTTP/1.1\r\nHost:\r\n" + "\r\n", "the Host field"},
		{"no Host", "GET http://good.example/ HTTP/1.1\r\n" + "\r\n", "missing required Host"},
		{"two Hosts", get + "Host: evil.example\r\n\r\n", ""},
		{"Host with a blank before the colon", "GET http://good.example/ HTTP/1.1\r\nHost : evil.example\r\n" + "\r\n", ""},
		{"Host on two lines", "GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\n .evil.example\r\n" + "\r\n", ""},
		{"any field on two lines", get + "X-Long: a\r\n b\r\n\r\n", "begins with a blank"},
		{"a line of blanks for the end", get + "X-A: b\r\n \r\n\r\n", "begins with a blank"},
		{"lengths in two ways", post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "both Content-Length and Transfer-Encoding"},
		{"and in the other order", post + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", "both Content-Length and Transfer-Encoding"},
		{"a length with a blank before the colon", post + "Content-Length : 4\r\n\r\nabcd", ""},
		{"two lengths that differ", post + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", ""},
		{"two lengths that agree", post + "Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd", "twice"},
		{"a length in a list", post + "Content-Length: 4, 4\r\n\r\nabcd", ""},
		{"a length with a sign", post + "Content-Length: +4\r\n\r\nabcd", ""},
		{"another coding", post + "Transfer-Encoding: xchunked\r\n\r\n", ""},
		{"two codings", post + "Transfer-Encoding: gzip, chunked\r\n\r\n", ""},
		{"the coding twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", ""},
		{"a bare CR", get + "X-A: b\rHost: evil.example\r\n\r\n", ""},
		{"a NUL", get + "X-A: b\x00\r\n\r\n", ""},
		{"CONNECT with a path", "CONNECT good.example:80/x HTTP/1.1\r\nHost: good.example\r\n" + "\r\n", "CONNECT needs HOST:PORT"},
		{"CONNECT to a URL", "CONNECT http://good.example:80/ HTTP/1.1\r\nHost: good.example\r\n" + "\r\n", "CONNECT needs HOST:PORT"},
		{"CONNECT to a path", "CONNECT /good.example:80 HTTP/1.1\r\nHost: good.example\r\n" + "\r\n", "CONNECT needs HOST:PORT"},
		{"CONNECT with a user", "CONNECT a@good.example:80 HTTP/1.1\r\nHost: good.example\r\n" + "\r\n", "CONNECT needs HOST:PORT"},
		{"CONNECT without a port", "CONNECT good.example HTTP/1.1\r\nHost: good.example\r\n" + "\r\n", "it has no port"},
		{"CONNECT with a body", conn + "Content-Length: 4\r\n\r\nabcd", "CONNECT has no body"},
		{"CONNECT with chunks", conn + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "CONNECT has no body"},
		{"a path alone", "GET / HTTP/1.1\r\nHost: good.example\r\n" + "\r\n", "this is a proxy; ask for a whole URL"},
		{"two slashes", "GET //good.example/ HTTP/1.1\r\nHost: good.example\r\n" + "\r\n", "this is a proxy"},
		{"https", "GET https://good.example/ HTTP/1.1\r\nHost: good.example\r\n" + "\r\n", "ask for https with CONNECT"},
		{"another scheme", "GET ftp://good.example/ HTTP/1.1\r\nHost: good.example\r\n" + "\r\n", "this is a proxy"},
		{"no slashes", "GET http:good.example HTTP/1.1\r\nHost: good.example\r\n" + "\r\n", ""},
		{"a user in the URL", "GET http://evil.example@good.example/ HTTP/1.1\r\nHost: good.example\r\n" + "\r\n", "the URL holds a user"},
		{"an escape in the host", "GET http://good%2eexample/ HTTP/1.1\r\nHost: good.example\r\n" + "\r\n", ""},
		{"a backslash in the host", "GET http://good.example\\@evil.example/ HTTP/1.1\r\nHost: good.example\r\n" + "\r\n", ""},
		{"HTTP/2", "GET http://good.example/ HTTP/2.0\r\nHost: good.example\r\n" + "\r\n", ""},
		{"the preface of HTTP/2", "PRI * HTTP/2.0\r\nHost: good.example\r\n" + "\r\nSM\r\n\r\n", ""},
		{"no HTTP at all", "\x16\x03\x01\x00\x05hello\r\n\r\n", ""},
	} {
		t.Run(c.says, func(t *testing.T) {
			resp, text := dialProxy(t, proxy).say(c.request).answer("GET")
			if resp.StatusCode != 400 && resp.StatusCode != 501 && resp.StatusCode != 505 {
				t.Errorf("%s: %s", resp.Status, text)
			}
			contains(t, text, c.want)
		})
	}
	if looked, dialled, _ := w.seen(); len(looked)+len(dialled) > 0 || arrived != "" {
		t.Errorf("looked up %q, dialled %q, arrived %q", looked, dialled, arrived)
	}
}

func TestAConnectionCarriesOneRequest(t *testing.T) {
	proxy, w := handled(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "only one") })
	one := "GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\n" + "\r\n"
	got := dialProxy(t, proxy).say(strings.Repeat(one, 1000)).rest() // and without a reset, though most was not read
	if strings.Count(got, "HTTP/1.1") != 1 || !strings.Contains(got, "Connection: close") {
		t.Errorf("%q", got)
	}
	if _, dialled, _ := w.seen(); len(dialled) != 1 {
		t.Errorf("dialled %q", dialled)
	}
}

func TestAnOldClientIsAnsweredInItsLanguage(t *testing.T) {
	proxy, _ := handled(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "no ")
		http.NewResponseController(w).Flush()
		io.WriteString(w, "chunks")
	})
	got := dialProxy(t, proxy).say("GET http://good.example/ HTTP/1.0\r\n" + "\r\n").rest()
	if !strings.HasPrefix(got, "HTTP/1.0 200 OK\r\n") || !strings.HasSuffix(got, "\r\n\r\nno chunks") {
		t.Errorf("%q", got)
	}
}

func TestAPlainRequestDoesNotChangeItsProtocol(t *testing.T) {
	proxy, w := handled(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "upgrade %q %q", r.Header["Upgrade"], r.Header["Http2-Settings"])
	})
	const get = "GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\n"
	resp, text := dialProxy(t, proxy).say(get + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n").answer("GET")
	if resp.StatusCode != 501 || resp.Header.Get("X-Tipstaff-Refused") != "upgrade" {
		t.Error(resp.Status, resp.Header)
	}
	contains(t, text, "ask with CONNECT, for WebSockets too")
	resp, text = dialProxy(t, proxy).say(get + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n").answer("GET")
	if resp.StatusCode != 200 || text != "upgrade [] []" {
		t.Error(resp.Status, text)
	}
	for _, fields := range []string{"", "Connection: upgrade\r\nUpgrade: websocket\r\n"} {
		w.routes[public1+":80"] = listen(t, func(c *talk) {
			http.ReadRequest(c.r)
			c.say("HTTP/1.1 101 Switching Protocols\r\n" + fields + "\r\n")
		})
		resp, text = dialProxy(t, proxy).say(get + "\r\n").answer("GET")
		if resp.StatusCode != 502 {
			t.Error(resp.Status, text)
		}
	}
}

func TestAFloodOfHeadersIsBounded(t *testing.T) {
	proxy, _ := newInternet().proxy(t, "good.example", func(o *Options) { o.MaxHeaderBytes = 8 << 10 })
	conn := dialProxy(t, proxy).say("GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\n")
	sent := 0
	for range 1000 { // until it is refused
		n, err := io.WriteString(conn.Conn, "X-Flood: "+strings.Repeat("x", 1000)+"\r\n")
		sent += n
		if err != nil {
			break
		}
	}
	if sent >= 1000*1000 {
		t.Logf("the kernel took %d bytes", sent)
	}
	if resp, err := http.ReadResponse(conn.r, nil); err == nil && resp.StatusCode != 431 {
		t.Error(resp.Status)
	}

	conn = dialProxy(t, proxy).say("GET http://good.example/ HTTP/1.1\r\nX-Flood: " + strings.Repeat("x", 12<<10))
	if resp, _ := conn.answer("GET"); resp.StatusCode != 431 {
		t.Error(resp.Status)
	}
}

func TestAFloodOfTheHostsHeadersIsBounded(t *testing.T) {
	w := newInternet()
	w.host("good.example", public1, listen(t, func(c *talk) {
		http.ReadRequest(c.r)
		io.WriteString(c.Conn, "HTTP/1.1 200 OK\r\nX-Flood: "+strings.Repeat("x", 1<<20)+"\r\n\r\n")
	}), 80)
	proxy, _ := w.proxy(t, "good.example")
	if resp, _ := get(t, through(t, proxy), "http://good.example/"); resp.StatusCode != 502 {
		t.Error(resp.Status)
	}
}
