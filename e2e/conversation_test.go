//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v4"

	"tipstaff/e2e/kit"
)

// conversation is what a script says to one server. Besides the commands of
// testscript a script has these:
//
//	serve [NAME=VALUE…]   starts a server over stdio, with the usual settings of the
//	                      tests and these, and ends the one before. Its workspace is
//	                      $WORK, where the files of the script are, its state
//	                      directory $TIPSTAFF_STATE_DIR; no command can change what
//	                      is in $OUTSIDE
//	disconnect            closes the connection and waits for the end of the server
//	                      (stop is the end of the script in testscript)
//	[!] call TOOL ARG…    calls a tool; stdout is the answer. The answer must be no
//	                      error, and a command that has ended by itself must have
//	                      exit code 0; with ! the answer must be an error
//	exits CODE call …     calls a tool; the answer must be no error, and the command's
//	                      exit code this one
//	session NAME ARG…     opens a terminal session and puts its id into $NAME
//	background TOOL ARG…  calls a tool and does not wait for the answer
//	[!] finish            waits for the oldest of these answers and treats it as call does
//	until TEXT TOOL ARG…  calls a tool again and again until the answer says TEXT
//	tools [TOOL]          prints the names of the tools, one on each line, or the
//	                      description of one
//	instructions          prints what the server tells its client in the beginning
//
//	answer JSON           the last answer has these fields with these values; a field
//	                      that is missing counts as "", 0, false, null or []
//	field NAME [VAR]      prints a field of the last answer, like session.state, and
//	                      puts it into $VAR
//	[!] says TEXT…        stdout contains all of these texts, with ! none of them
//	size LEAST MOST       stdout has at least and at most so many bytes
//
//	[!] record REGEXP…    a line of the audit trail matches all of these, now
//	await REGEXP…         a line of the audit trail matches all of these, soon
//	events                prints the names of the trail's events, one on each line
//
// ARG is a JSON object with arguments, NAME=TEXT, NAME=@FILE, or NAME:=JSON, which
// may be @FILE as well. A call without ARG has no arguments, not even {}.
type conversation struct {
	t       *testing.T
	ts      *testscript.TestScript // whose line is carried out
	server  *kit.Server
	reply   kit.Reply
	body    map[string]any // fields of the reply; nil if it has none
	pending []chan kit.Reply
}

// conversing returns the commands of conversations.
func conversing() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	commands := map[string]func(ts *testscript.TestScript, neg bool, args []string){}
	for name, command := range map[string]struct {
		run         func(c *conversation, neg bool, args []string)
		least, most int // arguments
		negated     bool
	}{
		"serve":        {(*conversation).serve, 0, 99, false},
		"disconnect":   {(*conversation).disconnect, 0, 0, false},
		"call":         {(*conversation).call, 1, 99, true},
		"session":      {(*conversation).session, 1, 99, false},
		"background":   {(*conversation).background, 1, 99, false},
		"finish":       {(*conversation).finish, 0, 0, true},
		"until":        {(*conversation).until, 2, 99, false},
		"tools":        {(*conversation).tools, 0, 1, false},
		"instructions": {(*conversation).instructions, 0, 0, false},
		"answer":       {(*conversation).answer, 1, 1, false},
		"field":        {(*conversation).field, 1, 2, false},
		"says":         {(*conversation).says, 1, 99, true},
		"size":         {(*conversation).size, 2, 2, false},
		"record":       {(*conversation).record, 1, 99, true},
		"await":        {(*conversation).await, 1, 99, false},
		"events":       {(*conversation).events, 0, 0, false},
	} {
		commands[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			c := conversationOf(ts)
			switch {
			case neg && !command.negated, len(args) < command.least, len(args) > command.most:
				ts.Fatalf("%s is not used like this; see the comment of conversation", name)
			case c.server == nil && name != "serve" && name != "says" && name != "size":
				ts.Fatalf("%s: no server was started", name)
			}
			command.run(c, neg, args)
		}
	}
	return commands
}

// conversationOf returns the conversation of a script.
func conversationOf(ts *testscript.TestScript) *conversation {
	c := ts.Value(conversationKey{}).(*conversation)
	c.ts = ts
	return c
}

type conversationKey struct{}

func (c *conversation) serve(_ bool, settings []string) {
	if c.server != nil {
		c.disconnect(false, nil)
	}
	state := c.ts.Getenv("TIPSTAFF_STATE_DIR")
	s := prepare(c.t, setup{env: append([]string{"TIPSTAFF_STATE_DIR=" + state}, settings...)})
	s.Workspace, s.State = c.ts.MkAbs("."), state
	s.Cmd.Dir = s.Workspace
	s.Connect()
	c.server = s
}

func (c *conversation) disconnect(bool, []string) { _ = c.server.Session.Close() } // the cleanup of Connect judges it

func (c *conversation) call(neg bool, args []string) { c.ask(neg, 0, args) }

// exits is call for a command that ends with another exit code.
func (c *conversation) exits(code string, args []string) {
	want, err := strconv.Atoi(code)
	if c.server == nil || len(args) == 0 || err != nil {
		c.ts.Fatalf("usage: exits CODE call TOOL ARG...")
	}
	c.ask(false, want, args)
}

func (c *conversation) ask(isError bool, exitCode int, args []string) {
	c.take(c.server.Call(args[0], c.arguments(args[1:])))
	c.judge(isError, exitCode)
}

func (c *conversation) session(_ bool, args []string) {
	arguments, _ := c.arguments(append([]string{"{}"}, args[1:]...)).(kit.Args)
	for name, value := range map[string]string{"taskId": "T-1", "agentId": "agent"} {
		if _, given := arguments[name]; !given {
			arguments[name] = value
		}
	}
	c.take(c.server.Call("terminal_create_session", arguments))
	c.judge(false, 0)
	c.ts.Setenv(args[0], c.valueOf("sessionId"))
}

func (c *conversation) background(_ bool, args []string) {
	answer, arguments := make(chan kit.Reply, 1), c.arguments(args[1:])
	go func() { answer <- c.server.Call(args[0], arguments) }()
	c.pending = append(c.pending, answer)
}

func (c *conversation) finish(neg bool, _ []string) {
	if len(c.pending) == 0 {
		c.ts.Fatalf("nothing is called in the background")
	}
	r := <-c.pending[0]
	c.pending = c.pending[1:]
	c.take(r)
	c.judge(neg, 0)
}

func (c *conversation) until(_ bool, args []string) {
	text, tool, arguments := args[0], args[1], c.arguments(args[2:])
	var r kit.Reply
	kit.Eventually(c.t, tool+" says "+text, func() bool {
		r = c.server.Call(tool, arguments)
		return strings.Contains(r.Text, text)
	}, func() string { return r.Text })
	c.take(r)
}

func (c *conversation) tools(_ bool, args []string) {
	list, err := c.server.Session.ListTools(c.t.Context(), nil)
	c.ts.Check(err)
	for _, tool := range list.Tools {
		if len(args) == 0 {
			fmt.Fprintln(c.ts.Stdout(), tool.Name)
		} else if tool.Name == args[0] {
			fmt.Fprint(c.ts.Stdout(), tool.Description)
		}
	}
}

func (c *conversation) instructions(bool, []string) {
	fmt.Fprint(c.ts.Stdout(), c.server.Session.InitializeResult().Instructions)
}

// take makes an answer the last one.
func (c *conversation) take(r kit.Reply) {
	c.reply, c.body = r, nil
	fmt.Fprint(c.ts.Stdout(), r.Text)
	if strings.HasPrefix(r.Text, "{") {
		r.JSON() // the structured content is the same
		c.ts.Check(json.Unmarshal([]byte(r.Text), &c.body))
		return
	}
	if err := yaml.Unmarshal([]byte(r.Text), &c.body); err != nil {
		c.body = nil // a refusal of family A is a sentence
	}
}

// judge fails the script unless the last answer is an error or, if none is
// wanted, that of a command that has ended with the exit code, was stopped, or runs on.
func (c *conversation) judge(isError bool, exitCode int) {
	success, familyB := c.body["success"]
	code, ended := c.body["exit_code"]
	if familyB {
		code, ended = c.body["exitCode"]
	}
	switch {
	case c.reply.IsError != isError:
		c.ts.Fatalf("isError is %v", c.reply.IsError)
	case isError && familyB && (success != false || empty(c.body["error"]) || empty(c.body["message"])):
		c.ts.Fatalf("the error is not whole")
	case isError, c.body["state"] == "stopped":
	case c.body == nil:
		c.ts.Fatalf("the answer has no fields")
	case familyB && success != (exitCode == 0):
		c.ts.Fatalf("success is %v", success)
	case ended && fmt.Sprint(code) != strconv.Itoa(exitCode), !ended && exitCode != 0:
		c.ts.Fatalf("the exit code is %v, want %d", code, exitCode)
	}
}

func empty(v any) bool {
	return v == nil || v == "" || v == false || v == 0.0 || reflect.DeepEqual(v, []any{})
}

// arguments reads the arguments of a call, which has none at all without ARG.
func (c *conversation) arguments(args []string) any {
	if len(args) == 0 {
		return nil
	}
	out := kit.Args{}
	for _, arg := range args {
		if strings.HasPrefix(arg, "{") {
			c.ts.Check(json.Unmarshal([]byte(arg), &out))
			continue
		}
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			c.ts.Fatalf("%s is no argument", arg)
		}
		if file, is := strings.CutPrefix(value, "@"); is {
			value = c.ts.ReadFile(file)
		}
		name, isJSON := strings.CutSuffix(name, ":")
		out[name] = value
		if isJSON {
			var v any
			c.ts.Check(json.Unmarshal([]byte(value), &v))
			out[name] = v
		}
	}
	return out
}

func (c *conversation) answer(_ bool, args []string) {
	var want map[string]any
	c.ts.Check(json.Unmarshal([]byte(args[0]), &want))
	var got map[string]any
	again, err := json.Marshal(c.body) // numbers of YAML become those of JSON
	c.ts.Check(err)
	c.ts.Check(json.Unmarshal(again, &got))
	c.compare("", want, got)
}

func (c *conversation) compare(above string, want, got map[string]any) {
	for name, w := range want {
		g := got[name]
		below, isObject := w.(map[string]any)
		if within, ok := g.(map[string]any); ok && isObject {
			c.compare(above+name+".", below, within)
		} else if !reflect.DeepEqual(w, g) && (g != nil || !empty(w)) {
			c.ts.Fatalf("%s%s is %#v, want %#v", above, name, g, w)
		}
	}
}

func (c *conversation) field(_ bool, args []string) {
	value := c.valueOf(args[0])
	fmt.Fprint(c.ts.Stdout(), value)
	if len(args) == 2 {
		c.ts.Setenv(args[1], value)
	}
}

// valueOf returns a field of the last answer.
func (c *conversation) valueOf(name string) string {
	var at any = c.body
	for part := range strings.SplitSeq(name, ".") {
		fields, _ := at.(map[string]any)
		var ok bool
		if at, ok = fields[part]; !ok {
			c.ts.Fatalf("the answer has no %s:\n%s", name, c.reply.Text)
		}
	}
	if text, ok := at.(string); ok {
		return text
	}
	data, err := json.Marshal(at)
	c.ts.Check(err)
	return string(data)
}

func (c *conversation) says(neg bool, texts []string) {
	said := c.ts.ReadFile("stdout")
	for _, text := range texts {
		if strings.Contains(said, text) == neg {
			c.ts.Fatalf("%q is said: %v", text, neg)
		}
	}
}

func (c *conversation) size(_ bool, args []string) {
	least, err := strconv.Atoi(args[0])
	c.ts.Check(err)
	most, err := strconv.Atoi(args[1])
	c.ts.Check(err)
	if n := len(c.ts.ReadFile("stdout")); n < least || n > most {
		c.ts.Fatalf("it has %d bytes, want %d to %d", n, least, most)
	}
}

func (c *conversation) record(neg bool, patterns []string) {
	if c.recorded(patterns) == neg {
		c.ts.Fatalf("a record that matches: %v\n%s", !neg, strings.Join(c.trail(), ""))
	}
}

func (c *conversation) await(_ bool, patterns []string) {
	kit.Eventually(c.t, fmt.Sprintf("a record like %q", patterns), func() bool { return c.recorded(patterns) }, c.server.Stderr.String)
}

// recorded reports whether a line of the trail matches all of the patterns.
func (c *conversation) recorded(patterns []string) bool {
	return slices.ContainsFunc(c.trail(), func(line string) bool {
		return !slices.ContainsFunc(patterns, func(p string) bool { return !regexp.MustCompile(p).MatchString(line) })
	})
}

// trail returns the lines of the audit trail.
func (c *conversation) trail() (lines []string) {
	files, _ := filepath.Glob(filepath.Join(c.server.State, "audit", "*", "*.jsonl"))
	for _, file := range files {
		lines = slices.AppendSeq(lines, strings.Lines(c.ts.ReadFile(file)))
	}
	return lines
}

func (c *conversation) events(bool, []string) {
	for _, r := range c.server.Records() {
		fmt.Fprintln(c.ts.Stdout(), r["event"])
	}
}
