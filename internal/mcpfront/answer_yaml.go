package mcpfront

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.yaml.in/yaml/v4"

	"tipstaff"
)

// yamlAnswer answers how a command ended, in the form of contract A8.
func yamlAnswer(r tipstaff.Result) (*mcp.CallToolResult, error) {
	doc := mapping{}
	doc.integer("exit_code", r.ExitCode)
	doc.text("stdout", streamText(r.Stdout))
	doc.text("stderr", streamText(r.Stderr))
	doc.commands(&r)
	if s := deathSignal(r); s != "" {
		doc.text("signal", s)
	}
	if r.Truncated() {
		doc.boolean("truncated", true)
	}
	msg, hint := outcome(r)
	if msg != "" {
		doc.text("error", msg)
	}
	if hint != "" {
		doc.text("hint", hint)
	}
	body, err := doc.encode()
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: body}}, IsError: msg != ""}, nil
}

// refuseText answers why nothing ran. For a program that is allowed but could
// not be started, the answer is a result with the exit code that a shell gives
// (A13).
func refuseText(err error) *mcp.CallToolResult {
	e := tipstaff.AsError(err)
	if code := startExit(e.Code); code != 0 {
		doc := mapping{}
		doc.integer("exit_code", code)
		doc.text("stdout", "")
		doc.text("stderr", "")
		doc.text("error", e.Msg)
		if e.Hint != "" {
			doc.text("hint", e.Hint)
		}
		if body, err := doc.encode(); err == nil {
			return errorText(body)
		}
	}
	body := e.Msg
	if e.Code != tipstaff.InvalidCommandLine && !strings.Contains(body, "("+string(e.Code)+")") {
		body += " (" + string(e.Code) + ")"
	}
	if e.Hint != "" {
		body += "\n" + e.Hint
	}
	return errorText(body)
}

func errorText(body string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: body}}, IsError: true}
}

// startExit returns the exit code for a program that could not be started; 0
// for all other codes.
func startExit(c tipstaff.Code) int {
	switch c {
	case tipstaff.ProgramNotFound:
		return 127
	case tipstaff.ProgramNotExecutable:
		return 126
	default:
		return 0
	}
}

// outcome returns what the caller must know in addition to the exit code; an
// empty msg means that the command ended by itself.
func outcome(r tipstaff.Result) (msg, hint string) {
	switch r.Cause {
	case tipstaff.TimedOut:
		return fmt.Sprintf("Timed out after %dms; the command and everything it started was ended.", r.Limit.Milliseconds()), timeoutHint(r)
	case tipstaff.Cancelled:
		return "Cancelled while it was running; the command and everything it started was ended.", ""
	case tipstaff.Unknown:
		return "The end of the command could not be observed.", "Check what it has done before you run it again."
	}
	return "", strings.Join(append(r.Refusals, exitHint(r)...), " ")
}

// timeoutHint says what to do after a timeout. More time does not help a
// command that waits for a network it does not have.
func timeoutHint(r tipstaff.Result) string {
	hint := append([]string{"The output is what was captured so far."}, r.Refusals...)
	if !r.MissedNetwork {
		hint = append(hint, "Give it more time with a longer timeout, or split the work.")
	}
	return strings.Join(hint, " ")
}

// deathSignal returns the signal that ended a command, unless tipstaff sent it
// because the time was up: the error says that already.
func deathSignal(r tipstaff.Result) string {
	if r.Cause == tipstaff.Signalled || r.Cause.ByLimit() {
		return r.Signal
	}
	return ""
}

// exitHint explains exit codes by which programs report the failure of another.
func exitHint(r tipstaff.Result) []string {
	switch {
	case r.Cause.ByLimit():
		return nil // the refusal explains it
	case len(r.Commands) > 0:
		return nil // they explain it
	case deathSignal(r) != "":
		return []string{fmt.Sprintf("The program was ended by %s; tipstaff did not send it.", r.Signal)}
	case r.ExitCode == 127:
		return []string{"127 usually means that the program could not find another one that it wanted to run."}
	case r.ExitCode == 126:
		return []string{"126 usually means that the program found another one that it may not execute."}
	}
	return nil
}

// streamText returns the kept part of a stream as text. Bytes that are not
// UTF-8 become U+FFFD; a gap is marked in its place.
func streamText(s tipstaff.Stream) string {
	if s.Dropped == 0 {
		return validText(s.Head)
	}
	head, tail := validText(s.Head), validText(s.Tail)
	return head + fmt.Sprintf("\n[… %s, %d lines omitted …]\n", byteCount(s.Dropped), s.DroppedLines) + tail
}

// validText keeps valid UTF-8 as it is and replaces every other byte.
func validText(p []byte) string {
	if utf8.Valid(p) {
		return string(p)
	}
	var b strings.Builder
	b.Grow(len(p) + len(p)/8)
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		b.WriteRune(r) // U+FFFD for an invalid byte
		p = p[n:]
	}
	return b.String()
}

func byteCount(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	default:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	}
}

// mapping is a YAML mapping that keeps the order in which it was filled.
type mapping struct{ nodes []*yaml.Node }

func (m *mapping) add(key, tag, value string, style yaml.Style) {
	m.nodes = append(m.nodes,
		&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key},
		&yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value, Style: style})
}

func (m *mapping) integer(key string, n int)  { m.add(key, "!!int", fmt.Sprint(n), 0) }
func (m *mapping) boolean(key string, b bool) { m.add(key, "!!bool", fmt.Sprint(b), 0) }

// text adds a string in a form that every YAML parser, including those for 1.1,
// reads back as the same string.
func (m *mapping) text(key, s string) {
	style := yaml.DoubleQuotedStyle
	if readable(s) {
		style = yaml.LiteralStyle
	}
	m.add(key, "!!str", s, style)
}

// readable reports whether s can be written as a literal block without special
// rules of the format: lines of printable characters with plain beginnings and
// ends.
func readable(s string) bool {
	if !strings.Contains(s, "\n") || strings.HasSuffix(s, "\n\n") || strings.ContainsRune(" \t\n", rune(s[0])) {
		return false
	}
	for _, r := range s {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

func (m *mapping) encode() (string, error) {
	var b bytes.Buffer
	// Without this setting the library folds long lines.
	d, err := yaml.NewDumper(&b, yaml.WithLineWidth(-1), yaml.WithIndent(2))
	if err != nil {
		return "", err
	}
	if err := d.Dump(&yaml.Node{Kind: yaml.MappingNode, Content: m.nodes}); err != nil {
		return "", err
	}
	if err := d.Close(); err != nil {
		return "", err
	}
	return b.String(), nil
}
