package httpserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tipstaff/internal/front/authn"
)

// password knows one caller by a header.
type password struct{ scopes []authn.Scope }

func (p password) Authenticate(r *http.Request) (authn.Principal, error) {
	if r.Header.Get("Authorization") != "Bearer open sesame" {
		return authn.Principal{}, &authn.Refusal{Status: 401, Challenge: `Bearer realm="x"`, Msg: "no", Err: errors.New("for the operator")}
	}
	return authn.Principal{Name: "ali", Scopes: p.scopes}, nil
}

func options() Options {
	return Options{
		MCP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "hello ", authn.FromContext(r.Context()).Name)
		}),
		Callers: password{authn.All()}, Rate: 1000, Connections: 100, Log: slog.New(slog.DiscardHandler),
	}
}

// serve runs a server until the test ends.
func serve(t *testing.T, o Options, address string) *Listeners {
	t.Helper()
	l, err := Open(t.Context(), address, "", "")
	if err != nil {
		t.Fatal(err)
	}
	s := New(o)
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(ctx, l) })
	t.Cleanup(func() {
		cancel()
		served.Wait()
		ending, done := context.WithTimeout(context.Background(), 3*time.Second)
		defer done()
		s.Shutdown(ending, func(context.Context) {})
	})
	return l
}

func serveTCP(t *testing.T, o Options) (url string) {
	t.Helper()
	return "http://" + serve(t, o, "127.0.0.1:0").Addresses()[0].Text
}

// ask makes a request with headers, of which Host counts as well.
func ask(t *testing.T, method, url string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer open sesame")
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestHardening6OnlyOwnNamesAndOwnPages(t *testing.T) {
	o := options()
	o.Hosts, o.Origins = []string{"tipstaff.example"}, []string{"https://app.example"}
	url := serveTCP(t, o)
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	for _, c := range []struct {
		what   string
		header []string
		want   int
	}{
		{"by its address", nil, 200},
		{"by localhost", []string{"Host", "localhost:" + port}, 200},
		{"by another loopback address", []string{"Host", "[::1]"}, 200},
		{"by a name of the operator's", []string{"Host", "Tipstaff.example:443"}, 200},
		{"by a name that was made to lead here", []string{"Host", "evil.example"}, 403},
		{"by a name that looks like an address", []string{"Host", "127.0.0.1.evil.example"}, 403},
		{"by an address of another machine", []string{"Host", "192.0.2.1:" + port}, 403},
		{"by localhost of another domain", []string{"Host", "localhost.evil.example"}, 403},
		{"from a page of this machine", []string{"Origin", "http://localhost:3000"}, 200},
		{"from a page of the operator's", []string{"Origin", "https://app.example"}, 200},
		{"from another page", []string{"Origin", "https://evil.example"}, 403},
		{"from another port of the operator's page", []string{"Origin", "https://app.example:444"}, 403},
		{"from nowhere", []string{"Origin", "null"}, 403},
		{"from an empty page", []string{"Origin", ""}, 403},
		{"from a page that is no web page", []string{"Origin", "file://localhost"}, 403},
		{"from another page that does not say which", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"by a person who typed it", []string{"Sec-Fetch-Site", "none"}, 200},
	} {
		for _, path := range []string{"/mcp", "/healthz"} {
			if resp, body := ask(t, "GET", url+path, c.header...); resp.StatusCode != c.want {
				t.Errorf("%s %s: %d %s", path, c.what, resp.StatusCode, body)
			}
		}
	}
}

func TestPagesThatMayAskAreToldSo(t *testing.T) {
	url := serveTCP(t, options())
	resp, _ := ask(t, "OPTIONS", url+"/mcp", "Origin", "http://localhost:6274", "Access-Control-Request-Method", "POST")
	if resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Origin") != "http://localhost:6274" ||
		!strings.Contains(resp.Header.Get("Access-Control-Allow-Headers"), "Mcp-Session-Id") {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	resp, _ = ask(t, "OPTIONS", url+"/mcp", "Origin", "https://evil.example")
	if resp.StatusCode != 403 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another page: %d %v", resp.StatusCode, resp.Header)
	}
}

func TestNamesAreJudgedByWhereTheRequestArrived(t *testing.T) {
	s := New(options())
	lan, loop := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("127.0.0.1")
	for _, c := range []struct {
		host string
		at   netip.Addr
		want bool
	}{
		{"192.0.2.7:80", lan, true}, {"192.0.2.8", lan, false}, {"localhost", lan, false}, {"127.0.0.1", lan, false},
		{"localhost", loop, true}, {"127.0.0.2", loop, true}, {"192.0.2.7", loop, false}, {"", loop, false}, {"localhost", netip.Addr{}, false},
	} {
		if got := s.ownHost(c.host, c.at); got != c.want {
			t.Errorf("%q at %s: %v", c.host, c.at, got)
		}
	}
}

func TestNobodyAsks(t *testing.T) {
	url := serveTCP(t, options())
	resp, body := ask(t, "POST", url+"/mcp", "Authorization", "Bearer wrong")
	if resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") != `Bearer realm="x"` || strings.Contains(body, "operator") {
		t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
	}
	o := options()
	o.Callers = nil
	if resp, _ := ask(t, "POST", serveTCP(t, o)+"/mcp"); resp.StatusCode != 401 {
		t.Errorf("without an authenticator: %d", resp.StatusCode)
	}
	o.Callers = anybody{}
	if resp, _ := ask(t, "POST", serveTCP(t, o)+"/mcp"); resp.StatusCode != 500 {
		t.Errorf("with one that finds nobody: %d", resp.StatusCode)
	}
}

type anybody struct{}

func (anybody) Authenticate(*http.Request) (authn.Principal, error) {
	return authn.Principal{}, nil
}

func TestHealthIsForEverybodyAndMetricsAreNot(t *testing.T) {
	ready := Readiness{Ready: true, Policy: "loaded", Trail: "writable", Sandbox: "namespaces"}
	o := options()
	o.Ready = func() Readiness { return ready }
	o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "up 1") })
	url := serveTCP(t, o)
	if resp, body := ask(t, "GET", url+"/healthz", "Authorization", ""); resp.StatusCode != 200 || body != `{"status":"ok"}`+"\n" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, body := ask(t, "GET", url+"/readyz", "Authorization", ""); resp.StatusCode != 200 || body != `{"ready":true,"policy":"loaded","trail":"writable","sandbox":"namespaces"}`+"\n" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	ready.Ready = false
	if resp, _ := ask(t, "GET", url+"/readyz"); resp.StatusCode != 503 {
		t.Errorf("not ready: %d", resp.StatusCode)
	}
	if resp, _ := ask(t, "GET", url+"/metrics", "Authorization", ""); resp.StatusCode != 401 {
		t.Errorf("metrics for nobody: %d", resp.StatusCode)
	}
	if resp, body := ask(t, "GET", url+"/metrics"); resp.StatusCode != 200 || body != "up 1" {
		t.Errorf("metrics: %d %s", resp.StatusCode, body)
	}
	o.Callers = password{[]authn.Scope{authn.Read, authn.Execute}}
	if resp, _ := ask(t, "GET", serveTCP(t, o)+"/metrics"); resp.StatusCode != 403 {
		t.Errorf("metrics without the scope: %d", resp.StatusCode)
	}
}

func TestWhoAsksTooOftenWaits(t *testing.T) {
	o := options()
	o.Rate = 3
	url := serveTCP(t, o)
	for i := range 3 {
		if resp, _ := ask(t, "GET", url+"/mcp"); resp.StatusCode != 200 {
			t.Fatalf("request %d: %d", i, resp.StatusCode)
		}
	}
	// A third of a second gives a place back: on a busy machine a fourth may come too late.
	var resp *http.Response
	for range 100 {
		if resp, _ = ask(t, "GET", url+"/mcp"); resp.StatusCode != 200 {
			break
		}
	}
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
}

func TestPaceForgetsWhoIsSilent(t *testing.T) {
	p := newRateLimit(2)
	for i := range 100 {
		p.wait("user" + strconv.Itoa(i))
	}
	p.limiter("late", time.Now().Add(2*forgetful))
	if n := len(p.by); n != 1 {
		t.Errorf("%d principals are remembered", n)
	}
	if New(Options{Log: slog.New(slog.DiscardHandler)}).rateLimit.wait("x") == 0 {
		t.Error("without a rate somebody may ask")
	}
}

func TestHeadersAreBounded(t *testing.T) {
	o := options()
	o.MCP = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it got through") })
	url := serveTCP(t, o)
	r, err := http.NewRequestWithContext(t.Context(), "GET", url+"/mcp", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Long", strings.Repeat("x", 2*headerBytes))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return // the server has hung up before all was sent
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d", resp.StatusCode)
	}
}

// TestSlowConnectionsKeepNobodyOut opens more connections than allowed that
// send little or nothing, and makes requests beside them.
func TestSlowConnectionsKeepNobodyOut(t *testing.T) {
	o := options()
	o.Connections = 10
	url := serveTCP(t, o)
	for i := range 200 {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if i%2 == 0 {
			_, _ = io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-")
		}
	}
	if resp, body := ask(t, "GET", url+"/mcp"); resp.StatusCode != 200 || body != "hello ali" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestWhoIsServedStays uses up all connections with requests that are being
// answered.
func TestWhoIsServedStays(t *testing.T) {
	o := options()
	o.Connections = 3
	in, out := make(chan struct{}), make(chan struct{})
	o.MCP = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { in <- struct{}{}; <-out; fmt.Fprint(w, "done") })
	url := serveTCP(t, o)
	answers := make(chan string, o.Connections)
	for range o.Connections {
		go func() {
			_, body := ask(t, "GET", url+"/mcp")
			answers <- body
		}()
		<-in
	}
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := bufio.NewReader(c).ReadByte(); err == nil {
		t.Error("one too many was let in")
	}
	close(out)
	for range o.Connections {
		if body := <-answers; body != "done" {
			t.Errorf("one that was being served was told %q", body)
		}
	}
}

func TestAUnixSocketKnowsItsUsers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux is asked who has connected")
	}
	path := filepath.Join(t.TempDir(), "s")
	serve(t, options(), "unix:"+path)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://any.name/mcp", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if want := "hello uid:" + strconv.Itoa(os.Getuid()); err != nil || string(body) != want {
		t.Errorf("%d %s, want %s", resp.StatusCode, body, want)
	}
}

func TestAddresses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"7075": "HOST:PORT", "127.0.0.1:http": "number", "127.0.0.1:70000": "number", "unix:": "1 to 107", "unix:" + strings.Repeat("x", 108): "1 to 107",
		"unix:" + file: "no socket", "systemd": "no sockets for this process",
	} {
		if l, err := Open(t.Context(), address, "", ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %v", address, l, err)
		}
	}
	l, err := Open(t.Context(), ":0", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if a := l.Addresses()[0]; a.Public || !strings.HasPrefix(a.Text, "127.0.0.1:") {
		t.Errorf("without a host it listens at %+v", a)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
}

func TestASocketOfALivingServerIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	first, err := Open(t.Context(), "unix:"+path, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), "unix:"+path, "", ""); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("%v", err)
	}
	l := first.all[0].(*net.UnixListener)
	l.SetUnlinkOnClose(false) // it dies without cleaning up
	_ = first.Close()
	second, err := Open(t.Context(), "unix:"+path, "", "")
	if err != nil {
		t.Fatalf("what a dead server has left: %v", err)
	}
	_ = second.Close()
}

func TestShutdownAnswersWhatIsUnderWay(t *testing.T) {
	o := options()
	in, out := make(chan struct{}), make(chan struct{})
	o.MCP = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { close(in); <-out; fmt.Fprint(w, "done") })
	l, err := Open(t.Context(), "127.0.0.1:0", "", "")
	if err != nil {
		t.Fatal(err)
	}
	s := New(o)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	silent, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addresses()[0].Text)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	answer := make(chan string, 1)
	go func() {
		_, body := ask(t, "GET", "http://"+l.Addresses()[0].Text+"/mcp")
		answer <- body
	}()
	<-in
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	begin := time.Now()
	ending, done := context.WithTimeout(t.Context(), 10*time.Second)
	defer done()
	s.Shutdown(ending, func(context.Context) { close(out) })
	if body := <-answer; body != "done" {
		t.Errorf("the one under way was told %q", body)
	}
	if d := time.Since(begin); d > 8*time.Second {
		t.Errorf("it took %s: a connection that says nothing held it up", d)
	}
	// By its listener: another process may listen at its port by now.
	if _, err := l.all[0].Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("it still listens: %v", err)
	}
}
