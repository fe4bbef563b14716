//go:build linux && !race

package contain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.yaml.in/yaml/v4"

	"tipstaff/e2e/kit"
)

// told is the content of an answer, from any tool.
type told struct {
	allowed   bool // something was run or done
	exit      int
	stdout    string
	stderr    string
	text      string
	code      string
	truncated bool
	timedOut  bool
	bytes     int
}

var timeoutText = regexp.MustCompile(`(?i)timed?[ _-]?out`)

// understand reads an answer.
func (s *stage) understand(m kit.Message) told {
	s.t.Helper()
	a := told{text: m.Text(), bytes: len(m.Line)}
	if m.Error != nil {
		a.code = m.Line
		return a
	}
	var fields map[string]any
	if strings.HasPrefix(s.row.Tool, "execute_") {
		_ = yaml.Unmarshal([]byte(a.text), &fields)
	} else {
		_ = json.Unmarshal([]byte(a.text), &fields)
	}
	exit, ran := fields["exit_code"].(int)
	if n, ok := fields["exitCode"].(float64); ok {
		exit, ran = int(n), true
	}
	a.stdout, _ = fields["stdout"].(string)
	a.stderr, _ = fields["stderr"].(string)
	a.truncated, _ = fields["truncated"].(bool)
	a.code, _ = fields["error"].(string)
	success, says := fields["success"].(bool)
	failed := m.Result.IsError || says && !success
	if failed {
		a.code += " " + a.text
	}
	a.timedOut = failed && timeoutText.MatchString(a.text)
	if a.exit = exit; ran {
		a.allowed = !strings.Contains(a.code, "COMMAND_NOT_ALLOWED") && !strings.Contains(a.code, "UNSAFE_ARGUMENTS")
	} else {
		a.allowed = says && success && !m.Result.IsError
	}
	return a
}

// request sends a call and gives its number.
func (s *stage) request(tool string, a any) int {
	s.ids++
	s.Send(s.Line(s.ids, tool, a))
	return s.ids
}

// answer waits for the answer with a number.
func (s *stage) answer(id int) kit.Message {
	s.t.Helper()
	for i, m := range s.spare {
		if m.ID == id {
			s.spare = append(s.spare[:i], s.spare[i+1:]...)
			return m
		}
	}
	for {
		m, alive := s.next()
		if !alive || m.ID == id {
			return m
		}
		s.spare = append(s.spare, m)
	}
}

// hear passes on the server's lines, until they end or the test does.
func (s *stage) hear() {
	defer close(s.lines)
	for {
		line, _ := s.Out.ReadString('\n')
		if line == "" {
			return
		}
		select {
		case s.lines <- line:
		case <-s.t.Context().Done():
			return
		}
	}
}

// next returns the server's next line; an empty one at the end.
func (s *stage) next() (m kit.Message, alive bool) {
	s.t.Helper()
	select {
	case line, more := <-s.lines:
		m = kit.Message{T: s.t, Line: line}
		if !more {
			s.dead = true
		} else if err := json.Unmarshal([]byte(line), &m); err != nil {
			s.t.Fatalf("standard output is not the protocol's alone: %v\n%s", err, line)
		}
	case <-time.After(90 * time.Second):
		s.t.Fatal("the server did not answer within 90 s")
	}
	return m, !s.dead
}

// arguments fills in the row's arguments, and opens a session if one is needed.
// A session that is refused is an answer too. Output is asked for as it came,
// so that cleaning hides nothing that got out of the sandbox.
func (s *stage) arguments() (a any, refused *told) {
	s.t.Helper()
	a = s.words.fillAll(s.row.Args)
	fields, ok := a.(map[string]any)
	if ok && slices.Contains([]string{"execute_command", "execute_process", "terminal_execute_command"}, s.row.Tool) {
		fields["raw"] = true
	}
	if !ok || s.row.Tool != "terminal_execute_command" || fields["sessionId"] != nil {
		return a, nil
	}
	params := kit.Args{"taskId": "T-1", "agentId": "agent", "workingDirectory": s.words["WS"]}
	for name, value := range s.row.Setup.Session {
		params[name] = s.words.fillAll(value)
	}
	m := s.answer(s.request("terminal_create_session", params))
	id := m.JSON().SessionID
	if id == "" {
		if s.row.Setup.Session == nil {
			s.t.Fatalf("no session: %s", m.Line)
		}
		answer := s.understand(m)
		return a, &answer
	}
	fields["sessionId"] = id
	return a, nil
}

// played is the outcome of a row.
type played struct {
	answers []told
	took    time.Duration
	ended   bool // the row has ended the server
}

// play does the row's steps.
func (s *stage) play() played {
	s.t.Helper()
	a, refused := s.arguments()
	if refused != nil {
		return played{answers: []told{*refused}}
	}
	stop := s.race()
	defer stop()
	steps := s.row.Steps
	if steps == nil {
		steps = []containStep{{Op: "call"}}
	}
	var p played
	pending := 0
	began := time.Now()
	for _, st := range steps {
		switch st.Op {
		case "call", "repeat":
			for range max(1, st.N) {
				p.answers = append(p.answers, s.understand(s.listening(s.request(s.row.Tool, a))))
			}
		case "call_async":
			pending = s.request(s.row.Tool, a)
			kit.Eventually(s.t, "the command runs", func() bool { return len(s.marked()) > 0 })
		case "cancel":
			s.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, pending))
		case "close_stdin":
			p.ended = true
			s.must(s.In.Close())
		case "term_server", "kill_server":
			p.ended = true
			s.must(s.Cmd.Process.Signal(map[string]os.Signal{"term_server": syscall.SIGTERM, "kill_server": syscall.SIGKILL}[st.Op]))
		case "sleep": // the other steps wait for what they need
		default:
			s.t.Fatalf("unknown step %q", st.Op)
		}
	}
	p.took = time.Since(began)
	return p
}

// marked lists the processes of the row.
func (s *stage) marked() []string { return commandLines(s.words["TAG"]) }

// commandLines lists the processes whose command line contains a text, except
// the victim.
func commandLines(text string) []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if line, err := os.ReadFile(dir + "/cmdline"); err == nil && bytes.Contains(line, []byte(text)) && !bytes.Contains(line, []byte("-victim")) {
			found = append(found, dir)
		}
	}
	return found
}

// listening waits for an answer. If the row's command listens on a port, it
// checks at once whether a process outside can reach it, and then ends it.
func (s *stage) listening(id int) kit.Message {
	s.t.Helper()
	port := s.words.fill(s.row.Expect.ListenUnreachable)
	if port == "" {
		return s.answer(id)
	}
	var n int
	_, err := fmt.Sscan(port, &n)
	s.must(err)
	listens := fmt.Sprintf(":%04X 00000000:0000 0A ", n) // proc_net(5)
	bind := fmt.Sprintf("s.bind(('0.0.0.0',%s))", port)
	kit.Eventually(s.t, "the command listens, or has ended", func() bool {
		for _, dir := range commandLines(bind) {
			table, _ := os.ReadFile(dir + "/net/tcp")
			if strings.Contains(string(table), listens) {
				return true
			}
		}
		return len(s.lines) > 0 // the answer
	})
	if c, err := net.DialTimeout("tcp4", "127.0.0.1:"+port, time.Second); err == nil {
		c.Close()
		s.reached = true
	}
	s.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	return kit.Message{T: s.t}
}
