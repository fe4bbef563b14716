//go:build linux && !race

package faults

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// args are the arguments of a call.
type args map[string]any

// agent is one that lets commands run, and keeps a ledger of what it is told.
type agent struct {
	ledger *ledger
	urls   []string // of all gateways
	token  string
	name   string
	http   *http.Client
	random *mathrand.Rand
	at     int // which gateway is next
}

// answerLimit is more than any command takes: an agent that is not answered in
// this time hangs up, and does not know.
const answerLimit = 45 * time.Second

func newAgent(l *ledger, urls []string, token, name string, seed uint64) *agent {
	return &agent{
		ledger: l, urls: urls, token: token, name: name, random: mathrand.New(mathrand.NewPCG(seed, 21)), at: int(seed),
		http: &http.Client{Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: 3 * time.Second, KeepAlive: 2 * time.Second}).DialContext, MaxIdleConnsPerHost: 2, IdleConnTimeout: 20 * time.Second,
		}},
	}
}

// work lets commands run until ctx is done, and finishes what it has begun.
func (a *agent) work(ctx context.Context) {
	for ctx.Err() == nil {
		switch n := a.random.IntN(10); {
		case n < 4:
			a.single()
		case n < 7:
			a.session()
		default:
			a.background()
		}
	}
	a.http.CloseIdleConnections()
}

// load draws what a command prints, in bytes, and how long it takes, in
// milliseconds: mostly little, sometimes much.
func (a *agent) load() (size, millis int) {
	switch a.random.IntN(6) {
	case 0:
		return 200_000, 0
	case 1:
		return 20_000, 1500
	case 2:
		return 100, 3000
	}
	return 300, 0
}

func newID(name string) string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // it never fails
	return fmt.Sprintf("%s-%x", name, b)
}

// single runs one command without a session.
func (a *agent) single() {
	id := newID(a.name)
	size, millis := a.load()
	a.insist(id, size, func() reply {
		return a.call("execute_process", args{"file": witnessName, "args": []string{id, strconv.Itoa(size), strconv.Itoa(millis)}, "command_id": id, "raw": true, "max_output_bytes": 1 << 20})
	})
}

// session runs some commands in a session of its own.
func (a *agent) session() {
	r := a.call("terminal_create_session", args{"taskId": "T-" + a.name, "agentId": a.name})
	session, _ := r.object["sessionId"].(string)
	if session == "" {
		a.rest()
		return
	}
	for range 1 + a.random.IntN(4) {
		id := newID(a.name)
		size, millis := a.load()
		if lost := a.insist(id, size, func() reply {
			return a.call("terminal_execute_command", args{
				"sessionId": session, "command": witnessName, "args": []string{id, strconv.Itoa(size), strconv.Itoa(millis)}, "commandId": id, "raw": true, "maxOutputBytes": 1 << 20,
			})
		}); lost {
			return
		}
	}
	a.call("terminal_close_session", args{"sessionId": session})
}

// insist asks for a command, and again with the same id while the answer leaves
// open what became of it. It reports whether a session is gone.
func (a *agent) insist(id string, size int, ask func() reply) (lost bool) {
	for range 4 {
		a.ledger.ask(id)
		began := time.Now()
		r := ask()
		got := r.verdict(id, size)
		got.took, got.at = time.Since(began), time.Now()
		a.ledger.answer(id, got)
		switch {
		case strings.HasPrefix(got.code, "SESSION_"):
			return true
		case got.verdict == nothing:
			a.rest()
			return false
		case got.verdict != unknown:
			return false
		}
		a.rest()
	}
	return false
}

// background starts a command that outlives its call, and reads all that it
// prints, through whichever gateway is next.
func (a *agent) background() {
	id := newID(a.name)
	size, millis := a.load()
	a.ledger.ask(id)
	began := time.Now()
	r := a.call("execute_process", args{"file": witnessName, "args": []string{id, strconv.Itoa(size), strconv.Itoa(millis)}, "command_id": id, "background": true, "raw": true})
	handle, _ := r.object["command_id"].(string)
	if handle == "" || r.code != "" {
		got := r.verdict(id, size)
		if got.verdict == well && got.fault != "" {
			got.fault = "" // what was printed so far, and no more was promised
		}
		got.took, got.at = time.Since(began), time.Now()
		a.ledger.answer(id, got)
		a.rest()
		return
	}
	var text strings.Builder
	offset := 0
	for range 60 {
		r = a.call("read_output", args{"command_id": handle, "offset": offset, "limit": 1 << 18, "raw": true, "until": "exit", "wait_ms": 5000})
		if r.code != "" || r.lost != nil {
			if r.code == "SESSION_LOST" || r.code == "COMMAND_NOT_FOUND" {
				break
			}
			a.rest()
			continue
		}
		out, _ := r.object["output"].(string)
		text.WriteString(out)
		next, _ := number(r.object, "next_offset")
		total, _ := number(r.object, "total_bytes")
		offset = next
		if state, _ := r.object["state"].(string); state != "running" && next >= total {
			got := answer{verdict: well, took: time.Since(began), at: time.Now()}
			if code, _ := number(r.object, "exit_code"); state != "exited" || code != 0 {
				got.verdict = ended
			} else if text.String() != testimony(id, size) {
				got.fault = differs(text.String(), testimony(id, size))
			}
			a.ledger.answer(id, got)
			return
		}
	}
	// It was started, and is not known to have ended.
	a.ledger.answer(id, answer{verdict: ended, code: r.code, text: r.text, took: time.Since(began), at: time.Now()})
}

// rest is what an agent does after a refusal.
func (a *agent) rest() { time.Sleep(time.Duration(100+a.random.IntN(400)) * time.Millisecond) }

// reply is what came back for a call.
type reply struct {
	lost   error          // the call was not answered
	text   string         // the answer
	object map[string]any // the answer, if it has a form
	code   string         // of a refusal
	failed bool           // isError
}

// call makes one call by the stateless protocol, at the next gateway.
func (a *agent) call(tool string, arguments args) (r reply) {
	a.at++
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	body, err := json.Marshal(args{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": args{
		"name": tool, "arguments": arguments, "_meta": args{
			"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": args{"name": "faults", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": args{},
		},
	}})
	if err != nil {
		return reply{lost: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.urls[a.at%len(a.urls)], bytes.NewReader(body))
	if err != nil {
		return reply{lost: err}
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + a.token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		req.Header.Set(name, value)
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return reply{lost: err}
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return reply{lost: err}
	}
	return parse(resp.StatusCode, data)
}

// codeIn finds the code of a refusal in the first line of its text.
var codeIn = regexp.MustCompile(`\(([A-Z][A-Z_]+)\)$`)

// parse reads an answer of the protocol.
func parse(status int, data []byte) (r reply) {
	for l := range bytes.Lines(data) { // of a stream, the last message is the answer
		if event, ok := bytes.CutPrefix(l, []byte("data:")); ok && bytes.Contains(event, []byte(`"id":1`)) {
			data = event
		}
	}
	var m struct {
		Result *struct {
			Content           []struct{ Text string }
			IsError           bool
			StructuredContent map[string]any
		}
		Error *struct{ Message string }
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Result == nil || len(m.Result.Content) == 0 {
		return reply{lost: fmt.Errorf("%d: %.300s", status, data)}
	}
	r.text, r.failed, r.object = m.Result.Content[0].Text, m.Result.IsError, m.Result.StructuredContent
	if r.object != nil {
		r.code, _ = r.object["error"].(string)
		return r
	}
	first, _, _ := strings.Cut(r.text, "\n")
	if found := codeIn.FindStringSubmatch(first); r.failed && found != nil {
		r.code = found[1]
		return r
	}
	_ = yaml.Unmarshal([]byte(r.text), &r.object) // a text that is no YAML has no fields
	return r
}

// open are codes of answers that leave open whether the command ran. Those of the
// protocol's faults are here as well.
var open = map[string]bool{"COMMAND_OUTCOME_UNKNOWN": true, "INTERNAL": true, "EXECUTION_ERROR": true}

// ran reports whether a refusal is about a command that did run. Part B has one
// code for what was ended while it ran and for much that never began.
func (r reply) ran() bool {
	return r.code == "TIMEOUT_EXCEEDED" || r.code == "EXECUTION_ERROR" && strings.Contains(r.text, "while it was running")
}

// verdict is what a reply says about a command that prints so many bytes.
func (r reply) verdict(id string, size int) (a answer) {
	defer func() {
		if a.text = r.text; a.verdict == well {
			a.text = ""
		}
	}()
	stdout, printed := r.object["stdout"].(string)
	code, hasCode := number(r.object, "exit_code", "exitCode")
	switch {
	case r.lost != nil:
		return answer{verdict: unknown, code: "(" + kind(r.lost) + ")"}
	case r.ran():
		return answer{verdict: ended, code: r.code}
	case r.code != "" && open[r.code]:
		return answer{verdict: unknown, code: r.code}
	case r.code != "":
		return answer{verdict: nothing, code: r.code}
	case !hasCode || !printed:
		return answer{verdict: unknown, code: "(no form)", fault: fmt.Sprintf("an answer without a form: %.300s", r.text)}
	case r.failed || code != 0:
		return answer{verdict: ended, code: fmt.Sprintf("exit %d", code)}
	}
	a = answer{verdict: well}
	if stdout != testimony(id, size) {
		a.fault = differs(stdout, testimony(id, size))
	}
	return a
}

func number(o map[string]any, names ...string) (int, bool) {
	for _, name := range names {
		switch n := o[name].(type) {
		case int:
			return n, true
		case float64:
			return int(n), true
		}
	}
	return 0, false
}

// kind is a fault of the transport in a word.
func kind(err error) string {
	text := err.Error()
	for _, word := range []string{"connection refused", "connection reset", "EOF", "deadline exceeded", "no route to host", "i/o timeout", "503", "429", "401", "404", "400", "500"} {
		if strings.Contains(text, word) {
			return word
		}
	}
	return text
}

// differs says where two texts part.
func differs(got, want string) string {
	n := 0
	for n < len(got) && n < len(want) && got[n] == want[n] {
		n++
	}
	return fmt.Sprintf(otherBytes+": %d bytes for %d, the first difference at %d: %.80q for %.80q", len(got), len(want), n, got[n:], want[n:])
}
