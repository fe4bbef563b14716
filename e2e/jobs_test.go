//go:build linux

package e2e

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"tipstaff/e2e/kit"
)

// running is what the tools answer about a command in the background.
type running struct {
	State      string `yaml:"state"`
	CommandID  string `yaml:"command_id"`
	ExitCode   *int   `yaml:"exit_code"`
	EndedBy    string `yaml:"ended_by"`
	Waits      bool   `yaml:"waits_for_input"`
	NextOffset int64  `yaml:"next_offset"`
	TotalBytes int64  `yaml:"total_bytes"`
	Truncated  bool   `yaml:"truncated"`
	Happened   *bool  `yaml:"happened"`
	Matched    int    `yaml:"matched"`
	Hint       string `yaml:"hint"`
	Output     string `yaml:"output"`
	Screen     string `yaml:"screen"`
	Stdout     string `yaml:"stdout"`
}

func ran(t *testing.T, r kit.Reply) running {
	t.Helper()
	var b running
	if err := yaml.Unmarshal([]byte(r.Text), &b); err != nil || r.IsError {
		t.Fatalf("%v\n%s", err, r.Text)
	}
	return b
}

// background starts a command that is to run on.
func background(s *kit.Server, tool string, a kit.Args) running {
	s.T.Helper()
	a["background"] = true
	b := ran(s.T, s.Call(tool, a))
	if b.State != "running" || b.CommandID == "" {
		s.T.Fatalf("it does not run: %+v", b)
	}
	return b
}

func about(s *kit.Server, tool, id string, more kit.Args) running {
	s.T.Helper()
	a := kit.Args{"command_id": id}
	for k, v := range more {
		a[k] = v
	}
	return ran(s.T, s.Call(tool, a))
}

// freePort finds a port of this machine that nobody has.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// jobServers runs a test with the Go client in both tiers over stdio, and over HTTP.
func jobServers(t *testing.T, env []string, f func(t *testing.T, s *kit.Server)) {
	t.Helper()
	env = append([]string{"ALLOWED_COMMANDS=python3,sh,sleep,cat,echo,testcmd,curl", "TIPSTAFF_NETWORK=on"}, env...)
	for _, tier := range []string{kit.Namespaces, kit.Landlock} {
		t.Run("stdio "+tier, func(t *testing.T) { f(t, start(t, setup{env: append(kit.Sandboxed(tier), env...)})) })
	}
	eachEra(t, func(t *testing.T, version string) {
		w := serveHTTP(t, setup{env: append(kit.Sandboxed(kit.Namespaces), env...)})
		f(t, w.as(master, version))
	})
}

const fetchProgram = "import sys,urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())"

func TestADevServerIsStartedWaitedForAskedAndStopped(t *testing.T) {
	jobServers(t, nil, func(t *testing.T, s *kit.Server) {
		port, mark := freePort(t), kit.NewMark(t)
		serve := fmt.Sprintf("echo begin; exec python3 -m http.server %d --bind 127.0.0.1", port)
		b := background(s, "execute_process", kit.Args{"file": "sh", "args": mark.InEnvironment(serve)})
		if w := about(s, "read_output", b.CommandID, kit.Args{"wait_ms": 20_000, "until": "port", "port": port}); w.Happened == nil || !*w.Happened {
			t.Fatalf("it does not listen: %+v", w)
		}
		got := s.Process("python3", []string{"-c", fetchProgram, fmt.Sprintf("http://127.0.0.1:%d/", port)}).Ran()
		if !strings.Contains(got.Stdout, "Directory listing") {
			t.Errorf("fetched %q", got.Stdout)
		}
		w := about(s, "read_output", b.CommandID, kit.Args{"wait_ms": 5_000, "match": `"GET / HTTP`})
		if w.Happened == nil || !*w.Happened || !strings.Contains(w.Output, "GET / HTTP/1.1\" 200") {
			t.Errorf("its log is %+v", w)
		}
		mark.WantHolders(t, 1)
		end := about(s, "stop_command", b.CommandID, nil)
		if end.State != "stopped" || end.ExitCode == nil || *end.ExitCode != 143 {
			t.Errorf("it ended as %+v", end)
		}
		mark.WantNone(t, 0)
		s.Call("stop_command", kit.Args{"command_id": b.CommandID}).Refused("COMMAND_NOT_RUNNING")
		if after := about(s, "read_output", b.CommandID, kit.Args{"grep": "^begin"}); after.Matched != 1 || after.State != "stopped" {
			t.Errorf("after its end: %+v", after)
		}
	})
}

func TestAReplIsTypedInto(t *testing.T) {
	jobServers(t, nil, func(t *testing.T, s *kit.Server) {
		b := background(s, "execute_command", kit.Args{"command": "python3 -i -q -u"})
		w := about(s, "write_input", b.CommandID, kit.Args{"input": "x = 6*7\nprint('it is', x)\n", "wait_ms": 5000})
		if !strings.Contains(w.Output, "it is 42") {
			w = about(s, "read_output", b.CommandID, kit.Args{"wait_ms": 5000, "match": "it is 42"})
		}
		if !strings.Contains(w.Output, "it is 42") || w.State != "running" {
			t.Errorf("it says %+v", w)
		}
		begun := time.Now()
		w = about(s, "write_input", b.CommandID, kit.Args{"input": "print('bye')\n", "close": true, "wait_ms": 10_000})
		if w = about(s, "read_output", b.CommandID, kit.Args{"wait_ms": 10_000, "until": "exit"}); w.State != "exited" || *w.ExitCode != 0 {
			t.Errorf("after the end of its input: %+v, after %v", w, time.Since(begun))
		}
		s.Call("write_input", kit.Args{"command_id": b.CommandID, "input": "x"}).Refused("COMMAND_NOT_RUNNING", "read_output")
	})
}
