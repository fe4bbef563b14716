//go:build linux && !race

package e2e

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tipstaff/e2e/kit"
)

// visitor is a person at the console, with a browser that has come in.
type visitor struct {
	t      *testing.T
	origin string
	http   *http.Client
	pid    int // of the console
}

// openConsole starts a console for a server's state directory.
func openConsole(t *testing.T, state string) *visitor {
	t.Helper()
	return visitConsole(t, []string{"TIPSTAFF_STATE_DIR=" + state, "PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}, "console")
}

// visitConsole starts a console with an environment, and comes in.
func visitConsole(t *testing.T, environ []string, args ...string) *visitor {
	t.Helper()
	cmd := exec.Command(kit.Path(t), args...)
	cmd.Env = environ
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said := &kit.Buffer{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the console ended with %v\n%s", err, said)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	u, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	jar, _ := cookiejar.New(nil)
	there := "127.0.0.1:" + u.Port()
	p := &visitor{t: t, origin: "http://" + u.Host, pid: cmd.Process.Pid, http: &http.Client{Jar: jar, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", there) // browsers find *.localhost by themselves
		},
	}}}
	if body := p.get(u.RequestURI()); !strings.Contains(body, "You are in") {
		t.Fatal(body)
	}
	return p
}

func (p *visitor) get(path string) string {
	p.t.Helper()
	return p.do(http.MethodGet, path, nil)
}

func (p *visitor) post(path string, form url.Values) string {
	p.t.Helper()
	return p.do(http.MethodPost, path, form)
}

func (p *visitor) do(method, path string, form url.Values) string {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.origin+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", p.origin)
	}
	res, err := p.http.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(body)
}

// eventually loads a page until it holds.
func (p *visitor) eventually(path string, want *regexp.Regexp) []string {
	p.t.Helper()
	var body string
	for limit := time.Now().Add(kit.Patience); time.Now().Before(limit); {
		body = p.get(path)
		if m := want.FindStringSubmatch(body); m != nil {
			return m
		}
	}
	p.t.Fatalf("%s never has %s:\n%s", path, want, body)
	return nil
}

// TestTheConsole is a night with the built binary: a person sees which agent does
// what, reads its output as it comes, stops it, and answers a question; each act is on
// the trail.
func TestTheConsole(t *testing.T) {
	t.Parallel()
	s := prepareAsking(t, setup{env: []string{"ENABLE_TERMINAL_ACCESS=true", "TIPSTAFF_SANDBOX=off"}, files: map[string]string{"tick.sh": "echo began\nwhile :; do echo tick; sleep 0.1; done\n"}})
	s.Connect()
	p, other := openConsole(t, s.State), openConsole(t, s.State)
	if body := p.get("/now"); !strings.Contains(body, "Nothing runs") {
		t.Errorf("an idle server:\n%s", body)
	}
	session := s.NewSession(kit.Args{"agentId": "night-agent", "taskId": "NIGHT-1"})
	var calls sync.WaitGroup
	defer calls.Wait()
	var ended kit.Reply
	calls.Go(func() {
		ended = s.InSession(session, "sh", []string{"tick.sh"})
		t.Logf("the agent is told: %s", ended.Text)
	})
	id := p.eventually("/now", regexp.MustCompile(`(?s)night-agent.*href="/commands/([^"]+)"`))[1]
	other.eventually("/now", regexp.MustCompile(`href="/commands/`+regexp.QuoteMeta(id)))
	p.follows(id)
	if body := p.get("/stop?id=" + id); !strings.Contains(body, "Stop this command?") {
		t.Error(body)
	}
	if body := p.post("/stop", url.Values{"id": {id}, "how": {"stop"}}); !strings.Contains(body, "Is being ended with all its processes") {
		t.Error(body)
	}
	calls.Wait()
	if len(recordsOf(s, "command.stopped")) != 1 {
		t.Errorf("the trail has %d stops", len(recordsOf(s, "command.stopped")))
	}

	var answered kit.Reply
	s.InSession(session, "echo", []string{needsAPerson})
	handle := p.eventually("/approvals", regexp.MustCompile(`id="q-(apr_[a-z0-9]+)"`))[1]
	if body := p.get("/approvals"); !strings.Contains(body, "sh tick.sh") {
		t.Errorf("the last commands are not shown:\n%s", body)
	}
	drawn := p.eventually("/approvals", regexp.MustCompile(`name="drawn" value="([0-9a-f]{64})"`))[1]
	for _, not := range []string{"", strings.Repeat("0", 64)} {
		if body := p.post("/approvals/"+handle, url.Values{"answer": {"once"}, "drawn": {not}}); strings.Contains(body, "Allowed once") {
			t.Errorf("an answer to what was not drawn counts: %s", body)
		}
	}
	if body := p.post("/approvals/"+handle, url.Values{"answer": {"once"}, "drawn": {drawn}}); !strings.Contains(body, "Allowed once") {
		t.Error(body)
	}
	if body := other.post("/approvals/"+handle, url.Values{"answer": {"once"}, "drawn": {drawn}}); !strings.Contains(body, "Somebody was faster") || !strings.Contains(body, "has already allowed it once") {
		t.Errorf("who answers second is not told: %s", body)
	}
	if answered = s.InSession(session, "echo", []string{needsAPerson}); strings.Contains(answered.Text, "APPROVAL_REQUIRED") {
		t.Errorf("it was allowed: %s", answered.Text)
	}

	if body := p.post("/freeze", url.Values{"target": {"agent=night-agent"}, "why": {"enough"}}); !strings.Contains(body, "Frozen: agent night-agent") {
		t.Error(body)
	}
	if r := s.InSession(session, "echo", []string{"x"}); !strings.Contains(r.Text, "enough") {
		t.Errorf("a frozen agent: %s", r.Text)
	}
	p.post("/lift", url.Values{"target": {"agent=night-agent"}})
	if r := s.InSession(session, "echo", []string{"thawed"}); strings.Contains(r.Text, "enough") || !strings.Contains(r.Text, "thawed") {
		t.Errorf("lifted: %s", r.Text)
	}
	_ = s.Session.Close() // a server that dies while looked at
	p.eventually("/now", regexp.MustCompile("No server runs"))
}

// follows reads output of a command as it comes, and holds that it is seen in time.
func (p *visitor) follows(id string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), kit.Patience)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, p.origin+"/commands/"+id+"/live", nil)
	res, err := p.http.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	ticks := 0
	var seen strings.Builder
	for lines := bufio.NewReader(res.Body); ticks < 5; {
		line, err := lines.ReadString('\n')
		if err != nil {
			p.t.Fatalf("%v; the stream was:\n%s", err, &seen)
		}
		seen.WriteString(line)
		if strings.HasPrefix(line, "data: ") && strings.Contains(line, "tick") {
			ticks++
		}
	}
}
