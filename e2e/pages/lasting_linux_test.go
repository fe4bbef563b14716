//go:build !race

package pages

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tipstaff/e2e/kit"
)

var (
	// What does not end by itself: servers on the network, and trails that are
	// followed.
	lasts = regexp.MustCompile(`tipstaff serve --(http|metrics)|tipstaff audit .*--follow`)
	// A server on standard input and output, which needs a client.
	serves = regexp.MustCompile(`(^|[ \n])tipstaff serve( --config \S+)?( *#.*)?$`)
	ended  = regexp.MustCompile(`(?m)^ended (\d+)$`)
)

// hello is what a client says to a server first.
const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"pages","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`

// do runs a command of a page, in the way in which it ends.
func (s *shell) do(t *testing.T, text string) (says, code string) {
	t.Helper()
	switch {
	case lasts.MatchString(text):
		return s.last(t, text)
	case serves.MatchString(text):
		return s.serve(t, text)
	}
	return s.run(t, text)
}

// last starts what does not end by itself, waits until it says that it is there,
// and ends it as a person does.
func (s *shell) last(t *testing.T, text string) (says, code string) {
	t.Helper()
	s.run(t, "set -m; ( trap : TERM INT; "+text+"\necho \"ended $?\" ) </dev/null & job=$!; set +m")
	file := filepath.Join(s.notes, fmt.Sprint(s.number))
	over := func() bool { return ended.MatchString(output(file)) }
	ready := func() bool { return strings.Contains(output(file), `"msg":"serving`) || over() }
	signal := "TERM"
	if strings.Contains(text, "--follow") {
		ready, signal = func() bool { return output(file) != "" }, "INT"
	}
	kit.Eventually(t, text, ready, func() string { return output(file) })
	s.run(t, "kill -"+signal+" -- -$job; wait $job 2>/dev/null")
	says = output(file)
	m := ended.FindStringSubmatch(says)
	if m == nil {
		t.Fatalf("it has not ended: %s\n%s", text, says)
	}
	if code = m[1]; code == "130" && signal == "INT" {
		code = "0" // a person has had enough
	}
	return ended.ReplaceAllString(says, ""), code
}

// serve speaks to a server as a client does: it lists the tools.
func (s *shell) serve(t *testing.T, text string) (says, code string) {
	t.Helper()
	greeting := filepath.Join(s.notes, "hello")
	must(t, os.WriteFile(greeting, []byte(hello), 0o600))
	says, code = s.run(t, fmt.Sprintf("exec 5<&0 < <(cat %s; until grep -q '\"id\":2' \"$file.out\"; do read -rt 0.05 <> <(:); done)\n%s\ncode=$?; exec 0<&5 5<&-; (exit $code)", greeting, text))
	if !strings.Contains(says, `"execute_process"`) {
		t.Errorf("it offers no tools: %s\n%s", text, says)
	}
	return says, code
}
