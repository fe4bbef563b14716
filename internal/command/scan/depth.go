package scan

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxBrackets is how many brackets may be open at once, as the bare text has them.
const maxBrackets = 2000

// tooDeep finds where a text nests so deep that the parser, which goes down with
// each bracket, would need seconds and hundreds of megabytes. It looks at
// brackets alone, also at those in quotes; honest text has as many that close.
func tooDeep(text string) *Fault {
	open := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[':
			if open++; open > maxBrackets {
				line := 1 + strings.Count(text[:i], "\n")
				return &Fault{Line: line, Column: i - strings.LastIndexByte(text[:i], '\n'), What: "more than 2,000 brackets are open here", Hint: "Split the script, or write long text to a file first."}
			}
		case ')', '}', ']':
			open = max(0, open-1)
		}
	}
	return nil
}

// depth counts how deep parts of a script are within each other.
type depth struct{ level int }

// enter returns a fault if a part lies too deep; a nil node is the way back.
func (d *depth) enter(n syntax.Node) *Fault {
	if n == nil {
		d.level--
		return nil
	}
	if d.level++; d.level > maxDepth*10 { // a part of a script is about ten nodes
		return fault(n.Pos(), "Split the script.", "parts of the script lie more than %d deep within each other", maxDepth)
	}
	return nil
}
