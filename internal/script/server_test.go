//go:build linux

package script

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/language"
	"tipstaff/internal/run"
	"tipstaff/internal/sandbox"
	"tipstaff/internal/sandbox/profile"
	"tipstaff/internal/testing/testworld"
)

// server is what a script needs of a server, without a record. It is the execution path as
// well: it notes what comes along.
type server struct {
	t       *testing.T
	scripts *Scripts
	sandbox *sandbox.Sandbox
	policy  *policy.Policy
	world   testworld.Machine
	ws      string

	mu    sync.Mutex
	asked []tipstaff.Request
}

var tiers = []sandbox.Tier{sandbox.Landlock, sandbox.Namespaces}

func eachTier(t *testing.T, test func(*testing.T, *server)) {
	for _, tier := range tiers {
		t.Run(tier.String(), func(t *testing.T) { test(t, newServer(t, tier, "")) })
	}
}

// newServer makes a server whose script processes are fake ones.
func newServer(t *testing.T, tier sandbox.Tier, early string) *server {
	t.Helper()
	engine, err := oneEngine()
	if err != nil {
		t.Fatal(err)
	}
	root := testworld.New(t).Make("ws/", "home/", "temp/").Root
	fd, err := unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	program := os.NewFile(uintptr(fd), "program")
	s := &server{t: t, ws: root + "/ws", world: testworld.Machine{Path: []string{"/usr/bin", "/bin"}}}
	s.sandbox, err = sandbox.New(sandbox.Options{
		Engine: engine, Mode: sandbox.BestEffort, Tier: tier, Directory: s.ws, Temp: root + "/temp", Program: program,
		Machine: profile.Machine{Home: root + "/home"}, Network: sandbox.Network{Reach: sandbox.AllNetwork},
	})
	if errors.Is(err, sandbox.ErrNoTier) {
		t.Skipf("no tier %s here: %v", tier, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.policy = policy.New(policy.Settings{
		Limits:      map[tipstaff.Family]policy.FamilyLimits{tipstaff.Execute: {DefaultTimeout: 20 * time.Second, OutputBytes: 1 << 20}},
		Environment: policy.NewEnvironment([]string{"LANG=C"}, "/usr/bin:/bin"),
		More:        []policy.Rule{deniesID{}},
		Shell:       policy.ShellSetting{Mode: language.ShellWrite, Set: true},
	})
	local := run.Local{Engine: engine, Sandbox: s.sandbox}
	s.scripts = &Scripts{
		Local: local, Next: local, Monitor: s, Program: program, Argv: []string{"script", fakeArgument, early},
		Modes: func(*policy.Grant) (write, goOn bool) { return true, false }, Log: slog.New(slog.DiscardHandler),
	}
	t.Cleanup(func() {
		s.scripts.Close()
		if err := s.sandbox.Close(); err != nil {
			t.Error(err)
		}
		_ = program.Close()
	})
	if got := s.sandbox.Status(); got.Tier != tier.String() {
		t.Fatalf("the tier is %s, and %s was named: %s", got.Tier, tier, got.Reason)
	}
	return s
}

// Execute decides about a command and runs it, as the monitor does.
func (s *server) Execute(ctx context.Context, req tipstaff.Request, live run.Live) (tipstaff.Result, error) {
	s.mu.Lock()
	s.asked = append(s.asked, req)
	s.mu.Unlock()
	var w policy.World = s.world
	if live.Directory != nil {
		w = policy.WithDirectory(w, live.Directory)
	}
	d := s.policy.Decide(req, w)
	defer d.Close()
	g, ok := d.Grant()
	if !ok {
		return tipstaff.Result{}, d.Refusal()
	}
	defer g.Close()
	return s.scripts.Run(ctx, g, live)
}

// commands returns the words of what came along the execution path from scripts.
func (s *server) commands() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.asked {
		if s.asked[i].Parent != "" {
			list = append(list, strings.Join(s.asked[i].Argv, " "))
		}
	}
	slices.Sort(list)
	return list
}

func (s *server) request(steps string) tipstaff.Request {
	return tipstaff.Request{ID: "cmd_script", Script: steps, Tool: "execute_shell", Family: tipstaff.Execute, Dir: s.ws, DirGiven: true}
}

// run runs a script of the fake's language.
func (s *server) run(steps string) tipstaff.Result {
	s.t.Helper()
	return s.runAs(s.t.Context(), s.request(steps))
}

func (s *server) runAs(ctx context.Context, req tipstaff.Request) tipstaff.Result {
	s.t.Helper()
	res, err := s.Execute(ctx, req, run.Live{})
	if err != nil {
		s.t.Fatalf("%s: %v", req.Script, err)
	}
	return res
}

func printed(r *tipstaff.Result) string { return string(r.Stdout.Head) }

// deniesID is a policy under which id does not run.
type deniesID struct{}

func (deniesID) Judge(_ *tipstaff.Request, _ policy.World, d *policy.Draft) []policy.Finding {
	if len(d.Argv) > 0 && d.Argv[0] == "id" {
		return []policy.Finding{{Rule: "test/id", Code: tipstaff.CommandNotAllowed, Msg: "id is not allowed", Hint: "Leave it out."}}
	}
	return nil
}
