package clients

import (
	"path/filepath"
	"slices"
	"strings"

	"tipstaff/internal/command/cmdline"
)

// Hooks are the clients whose own shell can ask tipstaff before it runs a line.
// Their files of settings are another file than that of their servers.
var hooks = []Client{{
	Name: "claude-code", Title: "Claude Code", Restart: "start a new session of Claude Code; /hooks lists what it has read",
	NoHTTP:  "a hook is a command",
	user:    places{any: []string{"{$CLAUDE_CONFIG_DIR}/settings.json", "{home}/.claude/settings.json"}},
	marks:   places{any: []string{"{$CLAUDE_CONFIG_DIR}", "{home}/.claude"}},
	project: []string{".claude/settings.json"}, programs: []string{"claude"},
	format: jsonHooks{}, entry: dialect{stdio: claudeHooks, command: "command", token: tokenByHand},
	denial: denial{at: "permissions deny", tools: strings.ReplaceAll(hookTools, "|", " ")},
}}

// FindHook returns the client of a name with the file in which its hooks are.
func FindHook(name string) (Client, bool) {
	c, ok := Find(name)
	for _, h := range hooks {
		if ok && h.Name == c.Name {
			return h, true
		}
	}
	return Client{}, false
}

// HookNames are the names of the clients that have hooks.
func HookNames() []string {
	names := make([]string, len(hooks))
	for i, c := range hooks {
		names[i] = c.Name
	}
	return names
}

const (
	// hookTools is the client's pattern of the tools that run lines in a shell.
	hookTools = "Bash|Monitor|PowerShell"
	// hookTime is how long the client waits for an answer.
	hookTime = 30
)

// hookEvents are the events at which the client calls, in the order in which
// they are written.
var hookEvents = []string{"PreToolUse", "PostToolUse", "PostToolUseFailure"}

// claudeHooks are the hooks of an entry: for each event a group of one command. If
// the command fails, or is gone, a client of version 2.1.295 or later does not run
// the line; older ones do not know onFailure.
func claudeHooks(e Entry) object {
	words := append([]string{e.Command}, e.Args...)
	for _, v := range e.Env {
		words = append(words, "--env", v.Name+"="+v.Value)
	}
	for _, v := range e.Accept {
		words = append(words, "--accept", v.Name+"="+v.Value)
	}
	o := object{}
	for _, event := range hookEvents {
		command := object{{"type", "command"}, {"command", cmdline.Quote(words)}, {"timeout", hookTime}}
		if event == hookEvents[0] {
			command = append(command, field{"onFailure", "block"})
		}
		o = append(o, field{event, object{{"matcher", hookTools}, {"hooks", []object{command}}}})
	}
	return o
}

// HookEntry reads from a state what the hooks start. An error says which event has
// none, or another one.
func HookEntry(st State) (e Entry, err error) {
	line := ""
	for _, event := range hookEvents {
		group, _ := st.found[event].(map[string]any)
		list, _ := group["hooks"].([]any)
		command := ""
		if len(list) == 1 {
			one, _ := list[0].(map[string]any)
			command, _ = one["command"].(string)
		}
		switch {
		case command == "":
			return e, formError("there is none for %s", event)
		case line != "" && command != line:
			return e, formError("that for %s is another one", event)
		case group["matcher"] != hookTools:
			return e, formError("that for %s is for other tools than %s", event, hookTools)
		}
		line = command
	}
	words, err := cmdline.Split(line)
	if err != nil {
		return e, formError("their command cannot be read: %v", err)
	}
	e.Command, e.Args = words[0], words[1:3]
	for i := 3; i+1 < len(words); i += 2 {
		name, value, _ := strings.Cut(words[i+1], "=")
		switch words[i] {
		case "--env":
			e.Env = append(e.Env, Variable{name, value})
		case "--accept":
			e.Accept = append(e.Accept, Variable{name, value})
		}
	}
	return e, nil
}

// isHook reports whether a command is tipstaff's own hook: PROGRAM hook CLIENT ….
func isHook(command string) bool {
	words, err := cmdline.Split(command)
	if err != nil || len(words) < 3 || words[1] != "hook" {
		return false
	}
	base := strings.TrimSuffix(filepath.Base(strings.ReplaceAll(words[0], `\`, "/")), ".exe")
	return strings.HasPrefix(base, "tipstaff") && slices.Contains(HookNames(), words[2])
}
