//go:build unix && !race

package e2e

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/e2e/kit"
)

// The build for tests leaves to people whatever has this word among its arguments.
const needsAPerson = "needs-a-person"

var eras = []string{"2025-11-25", "2025-06-18", "2026-07-28"}

// person answers the forms that a client shows.
type person struct {
	mu    sync.Mutex
	shown []string
	says  func(*mcp.ElicitParams) (*mcp.ElicitResult, error)
}

func (p *person) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		p.mu.Lock()
		p.shown = append(p.shown, r.Params.Message)
		says := p.says
		p.mu.Unlock()
		return says(r.Params)
	}}
}

func (p *person) forms() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.shown)
}

func chooses(decision, comment string) func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": decision, "comment": comment}}, nil
	}
}

// startAsking runs a server whose policy asks, for a client with these options.
func startAsking(t *testing.T, version string, o *mcp.ClientOptions, s setup) *kit.Server {
	t.Helper()
	srv := prepare(t, s)
	srv.Cmd.Path = kit.AskingPath(t)
	srv.Version, srv.Options = version, o
	srv.Connect()
	return srv
}

// approvalsOf gives what the trail says of questions, one line each.
func approvalsOf(s *kit.Server) []string {
	var out []string
	for _, r := range s.Records() {
		d, _ := r["decision"].(map[string]any)
		if a, ok := d["approval"].(map[string]any); ok {
			text := func(name string) string { v, _ := a[name].(string); return v }
			out = append(out, strings.TrimRight(strings.Join([]string{r["event"].(string), text("outcome"), text("choice"), text("how")}, " "), " "))
		}
	}
	return out
}

func wantApprovals(t *testing.T, s *kit.Server, want ...string) {
	t.Helper()
	if got := approvalsOf(s); !slices.Equal(got, want) {
		t.Errorf("on the record:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestAPersonIsShownTheWholeCommandAndAllowsItOnce(t *testing.T) {
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			p := &person{says: chooses("allow once", "")}
			s := startAsking(t, version, p.options(), setup{})
			for range 2 { // an answer counts once: the same command is asked about again
				if r := s.Process("echo", []string{needsAPerson, "a\nb", "\u202e\x1b[2J"}).YAML(); r.ExitCode != 0 {
					t.Errorf("%+v", r)
				}
			}
			forms := p.forms()
			if len(forms) != 2 {
				t.Fatalf("%d forms were shown", len(forms))
			}
			for _, want := range []string{`echo needs-a-person $'a\nb' $'\u202e\x1b[2J'`, "Directory: " + s.Workspace, "local", "The test wants a person", "tipstaff approve apr_", "/echo"} {
				if !strings.Contains(strings.Join(strings.Fields(forms[0]), " "), strings.Join(strings.Fields(want), " ")) {
					t.Errorf("the form lacks %q:\n%s", want, forms[0])
				}
			}
			wantApprovals(t, s,
				"command.asked pending", "command.start granted once elicitation", "command.end granted once elicitation",
				"command.asked pending", "command.start granted once elicitation", "command.end granted once elicitation")
		})
	}
}

func TestAnApprovalForTheSessionCountsForTheSameCommandAlone(t *testing.T) {
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			p := &person{says: chooses("allow for this session", "")}
			s := startAsking(t, version, p.options(), setup{})
			id, other := s.NewSession(), s.NewSession()
			for range 3 {
				if r := s.InSession(id, "echo", []string{needsAPerson}).JSON(); !r.Success {
					t.Errorf("%+v", r)
				}
			}
			if n := len(p.forms()); n != 1 {
				t.Errorf("%d forms for one command of one session", n)
			}
			s.InSession(id, "echo", []string{needsAPerson, "more"})
			s.InSession(other, "echo", []string{needsAPerson})
			if n := len(p.forms()); n != 3 {
				t.Errorf("%d forms in all, want one each for another command and for another session", n)
			}
			if last := approvalsOf(s)[3:7]; !slices.Equal(last, []string{
				"command.start granted session remembered", "command.end granted session remembered",
				"command.start granted session remembered", "command.end granted session remembered"}) {
				t.Errorf("recorded: %q", last)
			}
		})
	}
}

func TestWhateverIsNoApprovalRefuses(t *testing.T) {
	for _, version := range eras {
		for name, c := range map[string]struct {
			says func(*mcp.ElicitParams) (*mcp.ElicitResult, error)
			told string
		}{
			"deny":    {chooses("deny", "Open a pull\u202e request instead."), `Open a pull\u202e request instead.`},
			"decline": {func(*mcp.ElicitParams) (*mcp.ElicitResult, error) { return &mcp.ElicitResult{Action: "decline"}, nil }, "said no"},
			"cancel":  {func(*mcp.ElicitParams) (*mcp.ElicitResult, error) { return &mcp.ElicitResult{Action: "cancel"}, nil }, "said no"},
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				p := &person{says: c.says}
				s := startAsking(t, version, p.options(), setup{})
				r := s.InSession(s.NewSession(), "echo", []string{needsAPerson})
				if b := r.JSON(); !r.IsError || b.Error != "APPROVAL_DENIED" || !strings.Contains(b.Message, c.told) {
					t.Errorf("%s", r.Text)
				}
				if r := s.Process("echo", []string{needsAPerson}); !r.IsError || !strings.Contains(r.Text, c.told) || !strings.Contains(r.Text, "(APPROVAL_DENIED)") {
					t.Errorf("%s", r.Text)
				}
				wantApprovals(t, s, "command.asked pending", "command.refused denied  elicitation", "command.asked pending", "command.refused denied  elicitation")
			})
		}
	}
}

// host runs a subcommand of a person on the host.
func host(t *testing.T, s *kit.Server, args ...string) (out string, code string) {
	t.Helper()
	cmd := exec.Command(kit.AskingPath(t), args...)
	cmd.Env = []string{"TIPSTAFF_STATE_DIR=" + s.State, "PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}
	data, err := cmd.CombinedOutput()
	if err != nil {
		return string(data), kit.ExitCode(err)
	}
	return string(data), "0"
}

// handleIn reads the handle out of what a caller was told.
func handleIn(t *testing.T, text string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "apr_")
	if !ok || len(rest) < 26 {
		t.Fatalf("no handle in %s", text)
	}
	return "apr_" + rest[:26]
}

func TestWithoutElicitationAPersonOfTheHostAnswers(t *testing.T) {
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			s := startAsking(t, version, nil, setup{})
			id := s.NewSession()
			ask := func() kit.Reply { return s.InSession(id, "echo", []string{needsAPerson, "x\x1by"}) }
			first := ask()
			b := first.JSON()
			if !first.IsError || b.Error != "APPROVAL_REQUIRED" {
				t.Fatalf("%s", first.Text)
			}
			handle := handleIn(t, first.Text)
			if again := handleIn(t, ask().Text); again != handle {
				t.Errorf("the same call again has another handle")
			}
			out, code := host(t, s, "approvals")
			if code != "0" || !strings.Contains(out, handle) || !strings.Contains(out, `$'x\x1by'`) || strings.Contains(out, "\x1b") || !strings.Contains(out, id) {
				t.Errorf("approvals: %s\n%s", code, out)
			}
			var list []struct{ Approval, State, Command, Principal string }
			out, _ = host(t, s, "approvals", "--json")
			if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 1 || list[0].Approval != handle || list[0].State != "pending" || list[0].Principal != "local" {
				t.Errorf("approvals --json: %v\n%s", err, out)
			}
			if out, code := host(t, s, "approve", handle); code != "0" || !strings.Contains(out, "Allowed") {
				t.Errorf("approve: %s %s", code, out)
			}
			if r := s.InSession(id, "echo", []string{needsAPerson}); r.JSON().Error != "APPROVAL_REQUIRED" {
				t.Errorf("another command ran on it: %s", r.Text)
			} else if out, code := host(t, s, "deny", handleIn(t, r.Text), "--comment", "not\x1b today"); code != "0" {
				t.Errorf("deny: %s %s", code, out)
			}
			if r := s.InSession(id, "echo", []string{needsAPerson}).JSON(); r.Error != "APPROVAL_DENIED" || !strings.Contains(r.Message, `not\x1b today`) {
				t.Errorf("denied: %+v", r)
			}
			if r := ask().JSON(); !r.Success || r.Stdout != "needs-a-person x\x1by\n" {
				t.Errorf("approved: %+v", r)
			}
			if r := ask().JSON(); r.Error != "APPROVAL_REQUIRED" {
				t.Errorf("a second time: %+v", r)
			}
			if _, code := host(t, s, "approve", handle); code != "1" {
				t.Errorf("a used handle can be approved: %s", code)
			}
		})
	}
}

func TestTheHostMayAnswerWhileTheClientAsks(t *testing.T) {
	gone := make(chan struct{})
	o := &mcp.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		<-ctx.Done() // the person does not look; the server takes the question back
		close(gone)
		return nil, ctx.Err()
	}}
	s := startAsking(t, "2025-11-25", o, setup{})
	done := make(chan kit.Reply)
	go func() { done <- s.Process("echo", []string{needsAPerson}) }()
	approveAll(t, s)
	if r := (<-done).YAML(); r.ExitCode != 0 {
		t.Errorf("%+v", r)
	}
	<-gone
	wantApprovals(t, s, "command.asked pending", "command.start granted once host", "command.end granted once host")
}

// approveAll waits until a question is open and approves of it.
func approveAll(t *testing.T, s *kit.Server) {
	t.Helper()
	kit.Eventually(t, "a question to approve of", func() bool {
		out, _ := host(t, s, "approvals")
		if !strings.Contains(out, "apr_") {
			return false
		}
		_, code := host(t, s, "approve", handleIn(t, out))
		return code == "0"
	})
}

// TestACallThatIsCancelledWhileAPersonIsAskedRunsNothing (contract T3, T4), and
// its session goes on.
func TestACallThatIsCancelledWhileAPersonIsAskedRunsNothing(t *testing.T) {
	asked := make(chan struct{}, 10)
	o := &mcp.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	s := startAsking(t, "2025-11-25", o, setup{})
	id := s.NewSession()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	_, err := s.Session.CallTool(ctx, &mcp.CallToolParams{Name: "terminal_execute_command", Arguments: kit.Args{"sessionId": id, "command": "echo", "args": []string{needsAPerson}}})
	if err == nil {
		t.Fatal("it was answered")
	}
	began := time.Now()
	if r := s.InSession(id, "echo", []string{"x"}).JSON(); !r.Success || time.Since(began) > 20*time.Second {
		t.Errorf("the session after %v: %+v", time.Since(began), r)
	}
	wantApprovals(t, s, "command.asked pending", "command.refused cancelled")
}

// TestAStateIsGoodForItsCallOnceAndUnchanged speaks the stateless protocol
// itself: what a client brings back is not believed.
func TestAStateIsGoodForItsCallOnceAndUnchanged(t *testing.T) {
	srv := prepare(t, setup{})
	srv.Cmd.Path = kit.AskingPath(t)
	srv.Cmd.Stderr = nil
	r := kit.StartRaw(t, srv.Cmd)
	id := 0
	call := func(args kit.Args, more kit.Args) (answer struct {
		Result struct {
			ResultType    string
			RequestState  string
			InputRequests map[string]struct{ Method string }
			Content       []struct{ Text string }
			IsError       bool
		}
		Error any
	}) {
		t.Helper()
		id++
		params := kit.Args{"name": "execute_process", "arguments": args, "_meta": kit.Args{
			"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": kit.Args{"name": "raw", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": kit.Args{"elicitation": kit.Args{"form": kit.Args{}}},
		}}
		maps.Copy(params, more)
		line, err := json.Marshal(kit.Args{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
		if err != nil {
			t.Fatal(err)
		}
		r.Send(string(line))
		m := r.Receive()
		if err := json.Unmarshal([]byte(m.Line), &answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	push := kit.Args{"file": "echo", "args": []string{needsAPerson}}
	yes := kit.Args{"approval": kit.Args{"action": "accept", "content": kit.Args{"decision": "allow once"}}}
	ask := func() string {
		t.Helper()
		a := call(push, nil)
		if a.Result.ResultType != "input_required" || a.Result.RequestState == "" || a.Result.InputRequests["approval"].Method != "elicitation/create" || len(a.Result.Content) != 0 {
			t.Fatalf("%+v", a)
		}
		return a.Result.RequestState
	}
	state := ask()
	flipped := []byte(state)
	flipped[len(flipped)/2] ^= 1
	other := kit.Args{"file": "echo", "args": []string{needsAPerson, "--force"}}
	for name, c := range map[string]struct{ args, more kit.Args }{
		"changed":         {push, kit.Args{"requestState": string(flipped), "inputResponses": yes}},
		"made up":         {push, kit.Args{"requestState": "AAAA", "inputResponses": yes}},
		"of another call": {other, kit.Args{"requestState": state, "inputResponses": yes}},
		"without a state": {push, kit.Args{"inputResponses": yes}},
		"without answer":  {push, kit.Args{"requestState": state}},
	} {
		a := call(c.args, c.more)
		if !a.Result.IsError || len(a.Result.Content) != 1 || !strings.Contains(a.Result.Content[0].Text, "does not count") {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := call(push, kit.Args{"requestState": state, "inputResponses": yes}); a.Result.IsError || len(a.Result.Content) != 1 || !strings.Contains(a.Result.Content[0].Text, "exit_code: 0") {
		t.Errorf("the answer to the question: %+v", a)
	}
	if a := call(push, kit.Args{"requestState": state, "inputResponses": yes}); !a.Result.IsError || !strings.Contains(a.Result.Content[0].Text, "does not count") {
		t.Errorf("a second time: %+v", a)
	}
	if a := call(push, kit.Args{"requestState": ask(), "inputResponses": kit.Args{"approval": kit.Args{"action": "accept", "content": kit.Args{"decision": "ALLOW ONCE"}}}}); !a.Result.IsError || !strings.Contains(a.Result.Content[0].Text, "said no") {
		t.Errorf("an answer that is none of the choices: %+v", a)
	}
	ran := 0
	for _, rec := range srv.Records() {
		if rec["event"] == "command.start" {
			ran++
		}
	}
	if ran != 1 {
		t.Errorf("%d commands ran", ran)
	}
}

// TestACommandCannotApprove: with the sandbox the socket is out of sight, and
// without it the server does not listen to what it has started.
func TestACommandCannotApprove(t *testing.T) {
	for _, tier := range []string{"namespaces", "landlock", "off"} {
		t.Run(tier, func(t *testing.T) {
			env := []string{"TIPSTAFF_SANDBOX=require", "TIPSTAFF_SANDBOX_TIER=" + tier}
			if tier == "off" {
				env = []string{"TIPSTAFF_SANDBOX=off"}
			}
			bin := filepath.Dir(kit.AskingPath(t))
			s := prepare(t, setup{env: append(env, "ALLOWED_COMMANDS=tipstaff-asks,sh,ls,echo")})
			s.Cmd.Path = kit.AskingPath(t)
			s.Cmd.Env = kit.Overlay(s.Cmd.Env, []string{"PATH=" + bin + ":/usr/bin:/bin"})
			if tier != "off" && !works(t, s) {
				t.Skip("this machine has no such tier")
			}
			s.Connect()
			handle := handleIn(t, s.Process("echo", []string{needsAPerson}).Text)
			sockets, _ := filepath.Glob(filepath.Join(s.State, "control", "*.sock"))
			if len(sockets) != 1 {
				t.Fatalf("sockets: %q", sockets)
			}
			for _, line := range []string{
				`TIPSTAFF_STATE_DIR='` + s.State + `' tipstaff-asks approve ` + handle,
				`(setsid sh -c "TIPSTAFF_STATE_DIR='` + s.State + `' tipstaff-asks approve ` + handle + `" &) ; sleep 1`,
			} {
				r := s.Process("sh", []string{"-c", line}).YAML()
				t.Logf("%d %s%s", r.ExitCode, r.Stdout, r.Stderr)
				if strings.Contains(r.Stdout, "Allowed") {
					t.Errorf("%s approved", line)
				}
			}
			if tier != "off" {
				r := s.Process("ls", []string{filepath.Join(s.State, "control")}).YAML()
				if strings.Contains(r.Stdout, ".sock") {
					t.Errorf("the socket is in sight: %s", r.Stdout)
				}
			}
			if r := s.Process("echo", []string{needsAPerson}); !strings.Contains(r.Text, "APPROVAL_REQUIRED") {
				t.Errorf("afterwards: %s", r.Text)
			}
			if out, code := host(t, s, "approve", handle); code != "0" {
				t.Errorf("a person of the host cannot approve either: %s", out)
			}
		})
	}
}

// works reports whether the machine has what a server requires: one that has it
// not says so at its start.
func works(t *testing.T, s *kit.Server) bool {
	t.Helper()
	cmd := exec.Command(s.Cmd.Path, "run", "--", "echo", "x")
	cmd.Env, cmd.Dir = kit.Overlay(s.Cmd.Env, []string{"TIPSTAFF_STATE_DIR=" + t.TempDir()}), s.Workspace
	return cmd.Run() == nil
}

func TestNobodyToAskMeansNo(t *testing.T) {
	s := prepare(t, setup{})
	for _, args := range [][]string{{"run", "--", "echo", needsAPerson}, {"call", "execute_process", `{"file":"echo","args":["` + needsAPerson + `"]}`}} {
		cmd := exec.Command(kit.AskingPath(t), args...)
		cmd.Env, cmd.Dir = s.Cmd.Env, s.Workspace
		out, err := cmd.CombinedOutput()
		want := map[string]string{"run": "5", "call": "1"}[args[0]]
		if err == nil || kit.ExitCode(err) != want || !strings.Contains(string(out), "nobody can be asked here") {
			t.Errorf("%s: %v, want %s\n%s", args[0], err, want, out)
		}
	}
}

func TestTheSocketsOfDeadServersAreTakenAwayAndThoseOfLivingOnesStay(t *testing.T) {
	first := startAsking(t, "", nil, setup{})
	dir := filepath.Join(first.State, "control")
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("%v, %v", info, err)
	}
	second := prepare(t, setup{})
	second.Cmd.Path, second.State = kit.AskingPath(t), first.State
	second.Cmd.Env = kit.Overlay(second.Cmd.Env, []string{"TIPSTAFF_STATE_DIR=" + first.State})
	second.Connect()
	handle := handleIn(t, second.Process("echo", []string{needsAPerson}).Text)
	sockets := func() []string { s, _ := filepath.Glob(filepath.Join(dir, "*.sock")); return s }
	for _, path := range sockets() {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if len(sockets()) != 2 {
		t.Fatalf("sockets: %q", sockets())
	}
	if err := first.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, "the end of the first server", func() bool { return first.Session.Ping(t.Context(), nil) != nil })
	if out, code := host(t, second, "approve", handle); code != "0" {
		t.Errorf("beside a dead server's socket: %s", out)
	}
	third := prepare(t, setup{})
	third.Cmd.Path = kit.AskingPath(t)
	third.Cmd.Env = kit.Overlay(third.Cmd.Env, []string{"TIPSTAFF_STATE_DIR=" + first.State})
	third.Connect()
	if n := len(sockets()); n != 2 {
		t.Errorf("%d sockets of two living servers and a dead one", n)
	}
}

// TestACommandThatKnowsTheSocketIsTurnedAway: Landlock hides the name of the
// socket and not the socket. The filter of system calls gives confined commands no
// unix sockets; without a sandbox a command gets as far as the server's door.
func TestACommandThatKnowsTheSocketIsTurnedAway(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("this machine has no python3")
	}
	const script = `
import socket, sys
try:
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(b'{"op":"list"}\n')
    print("reply", s.recv(10000).decode())
except OSError as e:
    print("kept out", e)
`
	for _, env := range [][]string{{"TIPSTAFF_SANDBOX=require", "TIPSTAFF_SANDBOX_TIER=namespaces"}, {"TIPSTAFF_SANDBOX=require", "TIPSTAFF_SANDBOX_TIER=landlock"}, {"TIPSTAFF_SANDBOX=off"}} {
		t.Run(env[len(env)-1], func(t *testing.T) {
			s := prepare(t, setup{env: append(env, "ALLOWED_COMMANDS=python3,echo")})
			s.Cmd.Path = kit.AskingPath(t)
			if len(env) > 1 && !works(t, s) {
				t.Skip("this machine has no such tier")
			}
			s.Connect()
			handle := handleIn(t, s.Process("echo", []string{needsAPerson}).Text)
			sockets, _ := filepath.Glob(filepath.Join(s.State, "control", "*.sock"))
			r := s.Process("python3", []string{"-c", script, sockets[0]}).YAML()
			t.Log(r.Stdout, r.Stderr)
			if !strings.Contains(r.Stdout, "kept out") && !strings.Contains(r.Stdout, "not for commands") || strings.Contains(r.Stdout, handle) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestARunInATerminalAsksThere: whoever starts a command is the person.
func TestARunInATerminalAsksThere(t *testing.T) {
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip("this machine has no script(1) to make a terminal with")
	}
	s := prepare(t, setup{})
	for _, c := range []struct{ says, want, code string }{
		{"y\n", "needs-a-person ran", "0"}, {"\n", "said no", "4"}, {"not today\n", "The person says: not today", "4"},
	} {
		cmd := exec.Command("script", "-qec", kit.AskingPath(t)+" run -- echo "+needsAPerson+" ran", "/dev/null")
		cmd.Env, cmd.Dir, cmd.Stdin = s.Cmd.Env, s.Workspace, strings.NewReader(c.says)
		out, err := cmd.CombinedOutput()
		code := "0"
		if err != nil {
			code = kit.ExitCode(err)
		}
		if code != c.code || !strings.Contains(string(out), c.want) || !strings.Contains(string(out), "The test wants a person") {
			t.Errorf("%q: exit %s, want %s and %q\n%s", c.says, code, c.code, c.want, out)
		}
	}
}
