package gitconfig

import (
	"bytes"
	"fmt"
	"strings"
)

// maxTodo bounds the text; the list of a hundred thousand commits is smaller.
const maxTodo = 16 << 20

// Todo returns the lines of a rebase todo list (git-rebase-todo) that are shell
// commands or are not understood.
//
// Git treats a line whose first character is not a letter as a comment, or as
// an error.
func Todo(text []byte) []Finding {
	var fs findings
	if len(text) > maxTodo {
		fs.add(func() Finding {
			return Finding{What: "the list of the rebase cannot be read", Why: fmt.Sprintf("it is larger than %d bytes", maxTodo)}
		})
		return fs.all()
	}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimLeft(line, " \t")
		if len(line) == 0 || !letter(line[0]) {
			continue
		}
		end := bytes.IndexAny(line, " \t\r\n\x00")
		if end < 0 {
			end = len(line)
		}
		word := string(line[:end])
		switch {
		case word == "exec" || word == "x":
			command := strings.TrimSpace(string(line[end:]))
			fs.add(func() Finding {
				return Finding{"", fmt.Sprintf("line %d of the rebase's list is a command", n), "git rebase --continue runs " + shown(command), "look at the list with git rebase --edit-todo, or end the rebase with git rebase --abort"}
			})
		case !isStep(word):
			fs.add(func() Finding {
				return Finding{"", fmt.Sprintf("line %d of the rebase's list is not understood", n), shown(word) + " is no step that is known to run no program", "look at the list with git rebase --edit-todo"}
			})
		}
	}
	return fs.all()
}

// isStep reports whether word is a step of a rebase, or of a sequence of picks
// and reverts.
func isStep(word string) bool {
	switch word {
	case "pick", "p", "revert", "edit", "e", "reword", "r", "fixup", "f", "squash", "s",
		"break", "b", "label", "l", "reset", "t", "merge", "m", "update-ref", "u", "noop", "drop", "d":
		return true
	}
	return false
}
