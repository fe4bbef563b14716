//go:build unix && !race

package surface

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tipstaff/e2e/kit"
)

// server is a server that allows a few programs, in both families.
func server(t *testing.T, args ...string) *exec.Cmd {
	cmd := command(t, append([]string{"serve"}, args...)...)
	list := filepath.Join(filepath.Dir(cmd.Dir), "allow.json")
	write(t, list, `["ls", "cat"]`, 0o600)
	write(t, filepath.Join(cmd.Dir, "notes.txt"), "one\n", 0o600)
	cmd.Env = append(cmd.Env, "ALLOWED_COMMANDS=cat,ls,sh,sleep,false", "TIPSTAFF_SHELL=write", "ENABLE_TERMINAL_ACCESS=true", "TERMINAL_ALLOWLIST_PATH="+list)
	return cmd
}

// tools are the tools as a client of the era of sessions is shown them.
func tools(t *testing.T) string {
	r := kit.StartRaw(t, server(t))
	r.Initialize()
	r.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	return indented(t, r.Receive().Line)
}

// statelessTools are the tools as a client of the stateless era is shown them.
func statelessTools(t *testing.T) string {
	r := kit.StartRaw(t, server(t))
	r.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	return indented(t, r.Receive().Line)
}

func indented(t *testing.T, line string) string {
	t.Helper()
	var message struct{ Result json.RawMessage }
	if err := json.Unmarshal([]byte(line), &message); err != nil || len(message.Result) < 1000 {
		t.Fatalf("not a list of tools: %v\n%s", err, line)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, message.Result, "", "  "); err != nil {
		t.Fatal(err)
	}
	return here.ReplaceAllString(out.String(), "Here: …") + "\n"
}

// here is what a description says of the machine.
var here = regexp.MustCompile(`Here: [^"]*?sandbox: \w+`)

// record is the form of the record of a conversation: of each event the fields with
// their types, and the values that a reader acts on.
func record(t *testing.T) string {
	cmd := server(t)
	r := kit.StartRaw(t, cmd)
	r.Initialize()
	r.Call(1, "execute_command", kit.Args{"command": "ls notes.txt"})
	r.Call(2, "execute_command", kit.Args{"command": "rm notes.txt"})
	r.Call(3, "execute_process", kit.Args{"file": "false", "args": []string{}})
	r.Call(4, "execute_shell", kit.Args{"script": "cat notes.txt > copy.txt\nls"})
	session := r.Call(5, "terminal_create_session", kit.Args{"taskId": "T-1", "agentId": "agent"}).JSON().SessionID
	r.Call(6, "terminal_execute_command", kit.Args{"sessionId": session, "command": "ls"})
	r.Call(7, "terminal_close_session", kit.Args{"sessionId": session})
	r.Call(8, "execute_command", kit.Args{"command": "sleep 5", "timeout_ms": 100})
	_ = r.In.Close()
	if _, err := io.Copy(io.Discard, r.Out); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(cmd.Dir), "state", "audit", "*", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d trails: %v", len(files), err)
	}
	var out strings.Builder
	lines := bufio.NewScanner(strings.NewReader(read(t, files[0])))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var fields map[string]any
		if err := json.Unmarshal(lines.Bytes(), &fields); err != nil {
			t.Fatalf("%v\n%s", err, lines.Text())
		}
		var rows []string
		form(&rows, "", fields)
		slices.Sort(rows)
		out.WriteString(strings.Join(rows, "\n") + "\n\n")
	}
	return out.String()
}

// valued are the fields whose values are the same wherever the test runs.
var valued = []string{
	"code", "event", "name", "why", "decision.action", "decision.rule", "result.cause", "result.exit_code", "result.signal", "result.truncated",
	"what.argv", "what.script", "what.tool", "who.agent", "who.client", "who.front", "who.principal", "who.task",
}

// form adds a row for each field: its value where that is in valued, its type elsewhere.
func form(rows *[]string, path string, value any) {
	if slices.Contains(valued, path) {
		text, _ := json.Marshal(value)
		*rows = append(*rows, path+" = "+string(text))
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			form(rows, strings.TrimPrefix(path+"."+name, "."), inner)
		}
	case []any:
		for _, inner := range v {
			form(rows, path+"[]", inner)
		}
	default:
		if line := fmt.Sprintf("%s: %T", path, v); !slices.Contains(*rows, line) {
			*rows = append(*rows, line)
		}
	}
}

// metricNames are the metrics of a server that has run a command, with their help.
func metricNames(t *testing.T) string {
	cmd := server(t, "--metrics", "127.0.0.1:0")
	stderr := &kit.Buffer{}
	cmd.Stderr = stderr
	r := kit.StartRaw(t, cmd)
	r.Initialize()
	r.Call(1, "execute_command", kit.Args{"command": "ls"})
	url := ""
	kit.Eventually(t, "the server logs where its metrics are", func() bool {
		for line := range strings.Lines(stderr.String()) {
			var entry struct{ Msg, URL string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving metrics" {
				url = entry.URL
			}
		}
		return url != ""
	}, stderr.String)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var out strings.Builder
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "# ") && strings.Contains(lines.Text(), " tipstaff_") {
			out.WriteString(lines.Text() + "\n")
		}
	}
	if lines.Err() != nil || out.Len() == 0 {
		t.Fatalf("no metrics: %v", lines.Err())
	}
	return out.String()
}
