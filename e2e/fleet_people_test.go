//go:build linux && !race

package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tipstaff/e2e/kit"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/natsx/enginetest"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// guard makes a fleet around a server with the configuration that "tipstaff engine
// config" prints, with a key for each member, and the operators ops, who is known to
// the members, and stranger, who is known to NATS alone.
func guard(t *testing.T) *machines {
	t.Helper()
	m := &machines{t: t, files: t.TempDir(), keys: map[string]bool{}, runners: map[string]*kit.Server{}}
	m.write("seal", strings.Repeat("s", 32))
	args := []string{"engine", "config", "--store", t.TempDir()}
	for name, flag := range map[string]string{"g1": "--gateway", "g2": "--gateway", "r1": "--runner", "r2": "--runner", "r3": "--runner", "ops": "--operator", "stranger": "--operator", "auditor": "--auditor"} {
		seed, public, err := natsx.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		m.write(name+".nk", seed)
		m.keys[name] = true
		args = append(args, flag, name+"="+public)
	}
	var gateways, operators strings.Builder
	for name, to := range map[string]*strings.Builder{"g1": &gateways, "g2": &gateways, "ops": &operators, "stranger": {}} {
		seed, public, err := natsx.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		m.write(name+".key", seed)
		fmt.Fprintln(to, public, name)
	}
	m.write("gateways", gateways.String())
	m.write("operators", operators.String())
	out, err := exec.Command(kit.Path(t), args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	m.write("nats.conf", string(out))
	m.nats = enginetest.StartFile(t, filepath.Join(m.files, "nats.conf"))
	return m
}

// operator is the environment of an operator of the fleet.
func (m *machines) operator(name string) []string {
	return []string{
		"PATH=/usr/bin:/bin", "HOME=" + m.files, "TIPSTAFF_STATE_DIR=" + filepath.Join(m.files, "state-"+name),
		"TIPSTAFF_ENGINE=" + m.nats.URL(), "TIPSTAFF_ENGINE_ROLES=operator", "TIPSTAFF_OPERATOR_NAME=" + name,
		"TIPSTAFF_ENGINE_CREDENTIALS=" + filepath.Join(m.files, name+".nk"), "TIPSTAFF_ENGINE_KEY=" + filepath.Join(m.files, name+".key"),
	}
}

// as runs a command of an operator, and wants its exit code.
func (m *machines) as(t *testing.T, name, code string, args ...string) string {
	t.Helper()
	cmd := exec.Command(kit.Path(t), args...)
	cmd.Env = m.operator(name)
	out, err := cmd.CombinedOutput()
	got := "0"
	if err != nil {
		got = kit.ExitCode(err)
	}
	if got != code {
		t.Fatalf("%s %q ends with %s:\n%s", name, args, got, out)
	}
	return string(out)
}

// lookedFleet is what tipstaff top --json prints of a fleet.
type lookedFleet struct {
	Servers []struct {
		Member, Host, Silent string
		Sessions             []struct{ ID, Agent, Member string }
		Commands             []struct{ ID, Agent, Line, Member string }
	}
	Frozen []struct{ Agent, By, Operator, Why string }
}

func (m *machines) top(t *testing.T) lookedFleet {
	t.Helper()
	out := m.as(t, "ops", "0", "top", "--json")
	var l lookedFleet
	if err := json.Unmarshal([]byte(out), &l); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return l
}

// looks waits until all members have answered, and both runners run a command of the
// agent: one that is held up for two seconds is shown as silent.
func (m *machines) looks(t *testing.T) (l lookedFleet) {
	t.Helper()
	kit.Eventually(t, "all members answer, and both runners run a command of the agent", func() bool {
		l = m.top(t)
		for _, s := range l.Servers {
			if s.Silent != "" {
				return false
			}
		}
		return len(l.running("bad-agent")) == 2
	}, func() string { return fmt.Sprintf("%+v", l) })
	return l
}

// runs waits until a member says which command of the agent it runs.
func (m *machines) runs(t *testing.T, member string) (id string) {
	t.Helper()
	kit.Eventually(t, member+" runs a command of the agent", func() bool {
		id = m.top(t).running("bad-agent")[member]
		return id != ""
	})
	return id
}

// running returns the ids of the commands of an agent, by member.
func (l lookedFleet) running(agent string) map[string]string {
	ids := map[string]string{}
	for _, s := range l.Servers {
		for _, c := range s.Commands {
			if c.Agent == agent && c.Member == s.Member {
				ids[s.Member] = c.ID
			}
		}
	}
	return ids
}

// operatorsIn are the records of an event that name an operator's person.
func operatorsIn(s *kit.Server, event string) (n int) {
	for _, r := range s.Records() {
		p, _ := r["person"].(map[string]any)
		if r["event"] == event && p["how"] == "operator" && p["operator"] == "ops" && p["uid"] == float64(os.Geteuid()) && p["name"] != "" {
			n++
		}
	}
	return n
}

var badAgent = kit.Args{"agentId": "bad-agent", "taskId": "T-1"}

// sessionsOnBoth opens sessions of the agent until both runners have one, and starts a
// command in each.
func (m *machines) sessionsOnBoth(t *testing.T, s *kit.Server) {
	t.Helper()
	on := map[string]bool{}
	kit.Eventually(t, "a session on each runner", func() bool {
		id := s.NewSession(badAgent)
		for _, r := range m.top(t).Servers {
			for _, one := range r.Sessions {
				if one.ID == id && !on[r.Member] {
					on[r.Member] = true
					s.Call("terminal_execute_command", kit.Args{"sessionId": id, "command": "sh", "args": []string{"tick.sh"}, "background": true})
				}
			}
		}
		return len(on) == 2
	})
}

func TestPeopleLookAfterAFleet(t *testing.T) {
	testcmdtest.Long(t)
	t.Parallel()
	m := guard(t)
	o := setup{files: map[string]string{"tick.sh": "echo began\nwhile :; do echo tick; sleep 0.1; done\n"}, env: []string{"TIPSTAFF_SANDBOX=off"}}
	keeps := o
	keeps.env = append(slices.Clone(o.env), "TIPSTAFF_RECORDINGS=true")
	r1, r2 := m.runner("r1", keeps), m.runner("r2", o)
	w := m.gateway("g1", setup{}.withPolicy(t, leaveToPeople))
	a := w.as(alices, stateless)
	m.known(a, 2)
	m.sessionsOnBoth(t, a)

	t.Run("they see what runs on all hosts", func(t *testing.T) {
		l := m.looks(t)
		var names []string
		for _, s := range l.Servers {
			names = append(names, s.Member)
			if s.Host == "" {
				t.Errorf("%+v", s)
			}
		}
		if !slices.Equal(names, []string{"gateway g1", "runner r1", "runner r2"}) {
			t.Errorf("%+v", l)
		}
		host, _ := os.Hostname()
		if out := m.as(t, "ops", "0", "top"); !strings.Contains(out, "WHERE") || !regexp.MustCompile(`bad-agent +r1 .*sh tick.sh`).MatchString(out) || host == "" {
			t.Errorf("%s", out)
		}
		m.as(t, "ops", "0", "config", "check")
		if out := m.as(t, "ops", "3", "serve"); !strings.Contains(out, "people look after a fleet with these settings") {
			t.Errorf("%s", out)
		}
	})
	t.Run("one whose key is not known is told what to do", func(t *testing.T) {
		id := m.runs(t, "runner r1")
		for _, args := range [][]string{{"stop", id}, {"freeze", "--agent", "bad-agent"}} {
			if out := m.as(t, "stranger", "1", args...); !strings.Contains(out, "unknown_signer") || !strings.Contains(out, "a line of the file of TIPSTAFF_ENGINE_OPERATORS") {
				t.Errorf("%s", out)
			}
		}
		if out := m.as(t, "stranger", "0", "top"); strings.Contains(out, "tick.sh") || !strings.Contains(out, "TIPSTAFF_ENGINE_OPERATORS") {
			t.Errorf("%s", out)
		}
		m.looks(t) // nothing was stopped
		// What the stranger could write into the bucket counts for no member.
		m.as(t, "ops", "1", "lift", "--agent", "nobody")
		if r := a.On(t).Call("terminal_create_session", badAgent); r.IsError || strings.Contains(r.Text, "FROZEN") {
			t.Errorf("%s", r.Text)
		}
	})
	t.Run("they follow, stop and answer in the console", func(t *testing.T) { m.visit(t, a, r1) })
	t.Run("they stop by an id", func(t *testing.T) {
		id := m.runs(t, "runner r2")
		if out := m.as(t, "ops", "0", "stop", id); !strings.Contains(out, "Stopped: sh tick.sh") {
			t.Errorf("%s", out)
		}
		if n := operatorsIn(r2, "command.stopped"); n != 1 || operatorsIn(r1, "command.stopped") != 1 {
			t.Errorf("%d records on r2", n)
		}
		if out := m.as(t, "ops", "1", "stop", "cmd_NONE"); !strings.Contains(out, "no running server knows it") {
			t.Errorf("%s", out)
		}
	})
	t.Run("they read what all machines have recorded", func(t *testing.T) { m.visitTrails(t, r1) })
	m.freezing(t, o, w, a, r1, r2)
}

// visit is a person at the console of a fleet.
func (m *machines) visit(t *testing.T, a *kit.Server, r1 *kit.Server) {
	p := visitConsole(t, m.operator("ops"), "console", "--engine", m.nats.URL(), "--as", "ops")
	body := p.eventually("/now", regexp.MustCompile(`(?s)bad-agent.*runner r2.*`))[0]
	if !strings.Contains(body, "runner r1") || !strings.Contains(body, "gateway g1") {
		t.Errorf("%s", body)
	}
	id := m.runs(t, "runner r1")
	p.follows(id)
	if body := p.get("/commands/" + id); !strings.Contains(body, "runner r1") {
		t.Errorf("%s", body)
	}
	if body := p.post("/stop", url.Values{"id": {id}, "how": {"kill"}}); !strings.Contains(body, "Is being ended with all its processes") {
		t.Error(body)
	}
	kit.Eventually(t, "it is on the trail of r1", func() bool { return operatorsIn(r1, "command.stopped") == 1 })

	a.On(t).Process("echo", []string{needsAPerson})
	handle := p.eventually("/approvals", regexp.MustCompile(`(?s)id="q-(apr_[a-z0-9]+)".*gateway g1`))[1]
	if out := m.as(t, "ops", "0", "approvals"); !strings.Contains(out, handle) || !strings.Contains(out, "gateway g1") {
		t.Errorf("%s", out)
	}
	if out := m.as(t, "ops", "0", "approve", handle); !strings.Contains(out, "Allowed.") {
		t.Errorf("%s", out)
	}
	if r := a.On(t).Process("echo", []string{needsAPerson}); strings.Contains(r.Text, "APPROVAL_REQUIRED") {
		t.Errorf("it was allowed: %s", r.Text)
	}
	if out := m.as(t, "ops", "1", "deny", handle); !strings.Contains(out, "nothing waits under") || !strings.Contains(out, "of the operator ops (operator) has already allowed it once") {
		t.Errorf("%s", out)
	}
}

// freezing is what comes last: it costs a runner.
func (m *machines) freezing(t *testing.T, o setup, w *webServer, a, r1, r2 *kit.Server) {
	m.sessionsOnBoth(t, a)
	t.Run("a freeze holds on all hosts, and ends what runs", func(t *testing.T) {
		if out := m.as(t, "ops", "0", "freeze", "--agent", "bad-agent", "--why", "It deletes."); !strings.Contains(out, "2 commands ended on 3 servers") {
			t.Errorf("%s", out)
		}
		for _, s := range []*kit.Server{r1, r2, w.Server} {
			if n := operatorsIn(s, "freeze.set"); n != 1 {
				t.Errorf("%d records: %v", n, s.Records())
			}
		}
		if r := a.On(t).Call("terminal_create_session", badAgent); !strings.Contains(r.Text, "FROZEN") || !strings.Contains(r.Text, "It deletes.") {
			t.Errorf("%s", r.Text)
		}
		if r := a.On(t).Command("echo goes on").Ran(); r.Stdout != "goes on\n" {
			t.Errorf("%+v", r)
		}
		if out := m.as(t, "ops", "0", "freeze"); !strings.Contains(out, "agent bad-agent, by ") || !strings.Contains(out, "of the operator ops") {
			t.Errorf("%s", out)
		}
		out, code := host(t, r1, "top") // who looks at one host only sees it as well
		if code != "0" || !strings.Contains(out, "Frozen: agent bad-agent") {
			t.Errorf("%s", out)
		}
	})
	t.Run("a runner that starts later refuses, too, whatever the gateway knows", func(t *testing.T) {
		delete(m.keys, "g2") // it knows no operator
		free := m.gateway("g2", setup{env: []string{"TIPSTAFF_ENGINE_CREDENTIALS=" + filepath.Join(m.files, "g2.nk")}}).as(alices, stateless)
		r3 := m.runner("r3", o)
		m.known(free, 3)
		kit.Eventually(t, "r3 refuses", func() bool {
			if r := free.Call("terminal_create_session", badAgent); !strings.Contains(r.Text, "FROZEN") {
				t.Fatalf("%s", r.Text)
			}
			return len(recordsOf(r3, "session.refused")) > 0
		})
	})
	t.Run("a runner that was killed is named", func(t *testing.T) {
		_ = r2.Cmd.Process.Kill()
		began := time.Now()
		kit.Eventually(t, "r2 is silent or gone", func() bool {
			for _, s := range m.top(t).Servers {
				if s.Member == "runner r2" {
					return s.Silent != ""
				}
			}
			return true
		})
		t.Logf("r2 is known to be gone after %v", time.Since(began))
	})
	t.Run("it is lifted for all", func(t *testing.T) {
		out := m.as(t, "ops", "1", "lift", "--agent", "bad-agent") // r2 was not told, and g2 takes nothing
		if !strings.Contains(out, "Lifted: agent bad-agent, frozen by") || !strings.Contains(out, "gateway g2") {
			t.Errorf("%s", out)
		}
		kit.Eventually(t, "the agent works again", func() bool {
			return !strings.Contains(a.On(t).Call("terminal_create_session", badAgent).Text, "FROZEN")
		})
		if operatorsIn(r1, "freeze.lifted") != 1 {
			t.Error("it is not on the trail of r1")
		}
	})
}
