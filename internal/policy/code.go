package policy

import (
	"strings"

	"tipstaff/internal/rules"
)

// code judges a text in a small language of a program, as far as such a text
// shows that it starts programs.
func (r *startReader) code(language, text string, index int) {
	var found string
	switch language {
	case "sed":
		found = rules.SedStarts(text)
	case "awk":
		found = rules.AwkStarts(text)
	case "gdb":
		found = debuggerStarts(text, "shell", "python", "pipe", "pi", "py", "guile", "guile-repl", "gu", "gr", "make", "compile")
	case "lldb":
		found = debuggerStarts(text, "platform", "script", "command", "shell")
	case "vim":
		found = vimStarts(text)
	case "less":
		found = lessStarts(text)
	case "sqlite":
		found = sqliteStarts(text)
	case "psql":
		found = containsAny(text, `\!`, `\o |`, `\o|`, `\g |`, `\g|`, `\w |`, `\w|`, `\out |`, `\write |`, `\setenv`, "to program", "from program '", "from program $")
	case "mysql":
		found = mysqlStarts(text)
	case "log": // strace -o "|command"
		if strings.HasPrefix(text, "|") || strings.HasPrefix(text, "!") {
			found = text
		}
	case "linker": // of go: -ldflags
		found = containsAny(text, "-extld=", "-extld ", "-wrapper", "-fplugin", "-specs")
	case "checkpoint": // of tar
		if strings.HasPrefix(text, "exec") {
			found = text
		}
	}
	if found != "" {
		r.fault(index, found, "which makes "+r.by+" start other programs")
	}
}

// containsAny returns the first of parts that text contains, in whatever case.
func containsAny(text string, parts ...string) string {
	text = strings.ToLower(text)
	for _, part := range parts {
		if strings.Contains(text, part) {
			return part
		}
	}
	return ""
}

// debuggerStarts looks for a debugger's commands among the words of a text,
// because prefixes ("thread apply all …") take commands as arguments. Commands
// may be abbreviated to two letters and more; ! and | need no blank.
func debuggerStarts(text string, commands ...string) string {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "!") || strings.HasPrefix(trimmed, "|") {
		return trimmed
	}
	for word := range strings.FieldsSeq(text) {
		for _, command := range commands {
			if word == command || len(word) > 2 && strings.HasPrefix(command, word) || strings.HasPrefix(word, "python-") {
				return word
			}
		}
	}
	return ""
}

// vimStarts lets only commands pass that move, leave or save: -c and + take any.
func vimStarts(text string) string {
	command, plus := strings.CutPrefix(text, "+")
	if plus && (command == "" || command[0] == '/') {
		return ""
	}
	if plus || text != "" {
		switch command {
		case "$", "q", "q!", "qa", "qa!", "wq", "wqa", "x", "w", "wa":
			return ""
		}
		if strings.Trim(command, "0123456789") == "" {
			return ""
		}
	}
	if !plus && isPath(text) && !strings.HasPrefix(text, "-") && strings.ContainsAny(text, "./") {
		return "" // a file
	}
	return text
}

// lessStarts: +command runs a command at the start; a few only move.
func lessStarts(text string) string {
	command, plus := strings.CutPrefix(strings.TrimPrefix(text, "+"), "+")
	if !plus && !strings.HasPrefix(text, "+") {
		return ""
	}
	if command == "" || strings.Trim(command, "0123456789") == "" || strings.ContainsRune("/?FGgp", rune(command[0])) && !strings.ContainsAny(command, "!|#") {
		return ""
	}
	return text
}

// sqliteStarts looks for dot commands that start programs or load code; they
// may be abbreviated.
func sqliteStarts(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		command, rest, _ := strings.Cut(strings.TrimPrefix(line, "."), " ")
		if !strings.HasPrefix(line, ".") {
			continue
		}
		for _, full := range []string{"shell", "system", "load", "excel", "www"} {
			if len(command) > 1 && strings.HasPrefix(full, command) {
				return "." + command
			}
		}
		if strings.HasPrefix(strings.TrimLeft(rest, " \"'"), "|") {
			return line
		}
	}
	return containsAny(text, "edit(")
}

func mysqlStarts(text string) string {
	for line := range strings.Lines(text) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word = strings.ToLower(word); word == "system" || word == "pager" {
			return word
		}
	}
	return containsAny(text, `\!`)
}
