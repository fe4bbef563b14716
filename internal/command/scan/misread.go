package scan

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// misread returns a [*Fault] for a text that the parser takes for another one than
// Bash does. A fuzz test compares the two; each form that it has found is refused
// here until the parser is mended.
func misread(file *syntax.File, text string) *Fault {
	if f := joinedComment(text); f != nil {
		return f
	}
	var found *Fault
	kept := map[int]bool{} // line ends behind a backslash that Bash does not take out
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.SglQuoted:
			keep(kept, text, n)
		case *syntax.Redirect:
			if n.Op != syntax.Hdoc && n.Op != syntax.DashHdoc {
				break
			}
			if end := int(n.Word.End().Offset()); end < len(text) && strings.IndexByte(" \t\r\n;&|<>()`", text[end]) < 0 && found == nil {
				found = fault(n.Word.Pos(), "Put a blank behind the word.", "text right behind the word of a here-document is not supported")
			}
			if n.Hdoc != nil && n.Word.Lit() == "" {
				keep(kept, text, n.Hdoc)
			}
		}
		return found == nil
	})
	for at := 0; found == nil; at++ {
		next := strings.Index(text[at:], "\\\n")
		if next < 0 {
			break
		}
		if at += next; !kept[at] && splits(text, at) {
			line := 1 + strings.Count(text[:at], "\n")
			found = &Fault{Line: line, Column: at - strings.LastIndexByte(text[:at], '\n'), What: "a line end within an operator or an expansion is not supported", Hint: "Write it on one line."}
		}
	}
	return found
}

// joinedComment finds a comment that ends in a backslash. The parser goes on with the
// next line as if it belonged to the command before; Bash begins another command.
func joinedComment(text string) *Fault {
	suspect := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		suspect = suspect || strings.HasSuffix(line, `\`) && strings.Contains(line, "#")
	}
	if !suspect {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil {
		return unparsed(err)
	}
	var found *Fault
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, is := n.(*syntax.Comment); is && found == nil {
			line, _, _ := strings.Cut(text[c.Pos().Offset():], "\n")
			if strings.HasSuffix(strings.TrimRight(line, "\r"), `\`) {
				found = fault(c.Pos(), "Take the backslash out.", "a comment that ends in a backslash is not supported")
			}
		}
		return true
	})
	return found
}

// keep marks the backslashes before line ends within a node.
func keep(kept map[int]bool, text string, n syntax.Node) {
	for i := int(n.Pos().Offset()); i+1 < int(n.End().Offset()) && i+1 < len(text); i++ {
		if text[i] == '\\' && text[i+1] == '\n' {
			kept[i] = true
		}
	}
}

// splits reports whether the line end behind the backslash at i is within something
// that the parser reads by its next character: an expansion, or an operator.
func splits(text string, i int) bool {
	before, after := text[:i], text[i+2:]
	for strings.HasSuffix(before, "\\\n") {
		before = before[:len(before)-2]
	}
	for strings.HasPrefix(after, "\\\n") {
		after = after[2:]
	}
	if before == "" || after == "" {
		return false
	}
	b, a := before[len(before)-1], after[0]
	return b == '$' || strings.IndexByte("<>&|;()[]{}!#=+-", b) >= 0 && strings.IndexByte("<>&|;()[]{}!#=+-'\"$`", a) >= 0
}
