package policy

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed builtin/commands.txt
var commandsText string

// commandClass says what kind of command a name is known as.
type commandClass int

const (
	notCommand    commandClass = iota
	systemCommand              // of the system; the tools of a project do not use it
	otherCommand               // of developers, or of a shell
	proseCommand               // also an ordinary word
)

var knownCommands = sync.OnceValue(func() map[string]commandClass {
	known := map[string]commandClass{}
	for line := range strings.Lines(commandsText) {
		class, names, ok := strings.Cut(line, ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		kind := otherCommand
		switch class {
		case "system":
			kind = systemCommand
		case "word":
			kind = proseCommand
		}
		for name := range strings.FieldsSeq(names) {
			known[name] = kind
		}
	}
	return known
})

func commandKind(word string) commandClass {
	return knownCommands()[strings.TrimSuffix(word, ".exe")]
}

// readsPipes reports whether text is commonly piped into a program.
func readsPipes(word string) bool {
	switch word {
	case "sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "csh", "tcsh", "pwsh", "powershell",
		"tee", "xargs", "nc", "ncat", "netcat", "socat", "sudo", "base64", "perl", "ruby", "python", "python3":
		return true
	}
	return false
}

// readsOn reports whether text continues like a sentence, not like the
// arguments of a command.
func readsOn(rest string) bool {
	word := strings.TrimLeft(rest, " \t")
	if end := strings.IndexAny(word, " \t\r\n"); end >= 0 {
		word = word[:end]
	}
	switch strings.TrimRight(word, ".,:!?") {
	case "the", "a", "an", "this", "that", "these", "those", "it", "its", "is", "are", "was", "were", "be", "been",
		"and", "or", "but", "not", "no", "of", "to", "in", "on", "at", "by", "for", "with", "from", "into", "as",
		"out", "up", "off", "over", "sure", "all", "any", "each", "every", "some", "more", "my", "your", "our", "their",
		"his", "her", "we", "you", "they", "i", "if", "when", "how", "what", "why", "whether", "has", "have", "had",
		"will", "would", "should", "can", "could", "must", "may", "does", "did", "only", "also", "now", "then", "again", "so":
		return true
	}
	return false
}
