//go:build unix && !race

package e2e

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/e2e/kit"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// proxy passes on connections until it half-closes them: the client's side is gone then,
// and the server's side stays open and is read no more, as when a network or a proxy
// forgets a connection.
type proxy struct {
	t      *testing.T
	to     string
	listen net.Listener

	mu    sync.Mutex
	wires []*wire
}

type wire struct {
	near, far net.Conn
	dead      bool
}

// halfClosing returns a proxy before the server of a URL, and its own URL.
func halfClosing(t *testing.T, server string) (p *proxy, own string) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p = &proxy{t: t, to: u.Host, listen: l}
	var serving sync.WaitGroup
	serving.Go(p.serve)
	t.Cleanup(func() {
		_ = l.Close()
		p.each(func(c *wire) { _, _ = c.near.Close(), c.far.Close() })
		serving.Wait()
	})
	u.Host = l.Addr().String()
	return p, u.String()
}

func (p *proxy) serve() {
	var passing sync.WaitGroup
	defer passing.Wait()
	for {
		near, err := p.listen.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.to) //nolint:noctx // it ends with the test
		if err != nil {
			_ = near.Close()
			continue
		}
		c := &wire{near: near, far: far}
		p.mu.Lock()
		p.wires = append(p.wires, c)
		p.mu.Unlock()
		passing.Go(func() { p.pass(c, near, far) })
		passing.Go(func() { p.pass(c, far, near) })
	}
}

// pass copies one direction, and ends the other one with it while the wire lives.
func (p *proxy) pass(c *wire, from, to net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		dead := c.dead
		p.mu.Unlock()
		if dead {
			return
		}
		if n > 0 {
			_, _ = to.Write(buf[:n])
		}
		if err != nil {
			_, _ = from.Close(), to.Close()
			return
		}
	}
}

func (p *proxy) each(f func(*wire)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.wires {
		f(c)
	}
}

// halfClose forgets all connections, and returns how many there were.
func (p *proxy) halfClose() (n int) {
	p.each(func(c *wire) {
		if !c.dead {
			c.dead, n = true, n+1
			_ = c.near.Close()
		}
	})
	return n
}

// returns counts the requests that have come back to a stream, and the events that
// streams of calls have brought: without one the client has nothing to come back to.
type returns struct {
	http.RoundTripper
	n, events atomic.Int32
}

// countedBody counts the ids of events that are read.
type countedBody struct {
	io.ReadCloser
	n *atomic.Int32
}

func (b countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if bytes.Contains(p[:n], []byte("id: ")) {
		b.n.Add(1)
	}
	return n, err
}

func (r *returns) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.RoundTripper.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusOK && req.Header.Get("Last-Event-Id") != "" {
		r.n.Add(1)
	}
	if err == nil && req.Method == http.MethodPost {
		resp.Body = countedBody{resp.Body, &r.events}
	}
	return resp, err
}

// TestOverHTTPTheGoClientComesBackWhileItsOldConnectionLingers: the official client of
// Go comes back to a call whose connection only it has lost, and does so three times.
func TestOverHTTPTheGoClientComesBackWhileItsOldConnectionLingers(t *testing.T) {
	testcmdtest.Long(t)
	t.Parallel()
	w := serveHTTP(t, setup{})
	p, through := halfClosing(t, w.url)
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	asking := w.client(alices)
	back := &returns{RoundTripper: asking.Transport}
	asking.Transport = back
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: through, HTTPClient: asking}, &mcp.ClientSessionOptions{ProtocolVersion: stateful})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	answered := make(chan string, 1)
	before := back.events.Load()
	go func() {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_process", Arguments: kit.Args{"file": "sh", "args": []string{"-c", "touch begun; " + untilFile("go") + "; echo the answer"}}})
		if err != nil {
			answered <- err.Error()
			return
		}
		answered <- res.Content[0].(*mcp.TextContent).Text
	}()
	kit.Eventually(t, "the command has begun", func() bool { _, err := os.Stat(filepath.Join(w.Workspace, "begun")); return err == nil }, w.Stderr.String)
	kit.Eventually(t, "the client has an event of the call", func() bool { return back.events.Load() > before }, w.Stderr.String)
	for n := range int32(2) {
		if forgotten := p.halfClose(); n == 0 && forgotten < 2 {
			t.Errorf("%d connections were forgotten, and the client has one for the call and one to listen", forgotten)
		}
		kit.Eventually(t, "the client has come back", func() bool { return back.n.Load() > n })
	}
	p.halfClose()
	makeFile(t, w.Workspace, "go")
	if got := <-answered; !strings.Contains(got, "the answer") {
		t.Errorf("it was answered %s", got)
	}
	if _, err := session.ListTools(t.Context(), nil); err != nil {
		t.Errorf("the session is lost: %v", err)
	}
}
