package scan

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxUnread is how many expansions of a script may be none that the parser reads.
const maxUnread = 50

// parseFile parses a text. Bash reads an expansion up to its closing brace, and looks
// into it when it comes to it; so those of other shells, as zsh's ${(%):-%x}, may be in
// a branch that Bash never takes. The parser refuses them at once. They are covered for
// it with a name as long as they are, and unread says at which offset each is and what
// the parser says of it.
func parseFile(text string) (file *syntax.File, unread map[uint]*Fault, err error) {
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
	file, first := parser.Parse(strings.NewReader(text), "")
	covered, err := text, first
	unread = map[uint]*Fault{}
	for err != nil {
		from, to := expansionAt(covered, err, unread)
		if from < 0 || len(unread) == maxUnread {
			return nil, nil, first
		}
		maps.DeleteFunc(unread, func(at uint, _ *Fault) bool { return int(at) > from && int(at) < to })
		unread[uint(from)] = unparsed(err)
		covered = covered[:from+2] + strings.Repeat("_", to-from-2) + covered[to:]
		file, err = parser.Parse(strings.NewReader(covered), "")
	}
	found := 0
	syntax.Walk(file, func(n syntax.Node) bool {
		if e, is := n.(*syntax.ParamExp); is && unread[e.Pos().Offset()] != nil {
			found++
			e.Param.Value = text[e.Pos().Offset()+2 : e.End().Offset()-1] // what a session keeps is the text
		}
		return true
	})
	if found != len(unread) { // what was covered was no expansion
		return nil, nil, first
	}
	return file, unread, nil
}

// expansionAt returns from where to where the innermost ${…} on one line goes within
// which the parser has failed and which is not covered yet, with the offset of its
// closing brace; -1 if there is none.
func expansionAt(text string, err error, covered map[uint]*Fault) (from, to int) {
	at := -1
	if e, is := errors.AsType[syntax.ParseError](err); is {
		at = int(e.Pos.Offset())
	} else if e, is := errors.AsType[syntax.LangError](err); is {
		at = int(e.Pos.Offset())
	}
	if at < 0 || at >= len(text) {
		return -1, -1
	}
	line := strings.LastIndexByte(text[:at], '\n') + 1
	for i := min(at, len(text)-2); i >= line; i-- {
		if text[i] != '$' || text[i+1] != '{' || covered[uint(i)] != nil {
			continue
		}
		if end := closing(text, i+2); end >= at && end > i+2 {
			return i, end
		}
	}
	return -1, -1
}

// closing returns the offset of the brace that closes an expansion on the line; -1:
// there is none that Bash certainly finds, too. In quotes only text is taken that means
// the same whether these are quotes or not.
func closing(text string, i int) int {
	for depth := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\n', '`', '\\':
			return -1
		case '\'', '"':
			n := strings.IndexByte(text[i+1:], c)
			if n < 0 || strings.ContainsAny(text[i+1:i+1+n], "\n`\\{}\"'") {
				return -1
			}
			i += n + 1
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

// isLater reports whether a part of a script, the last of a path from its root, may be
// one that Bash never comes to: it is in a branch, a loop's body or a function.
func isLater(path []syntax.Node) bool {
	for i, n := range path[:len(path)-1] {
		st, is := path[i+1].(*syntax.Stmt)
		if !is {
			continue
		}
		switch n := n.(type) {
		case *syntax.FuncDecl, *syntax.CaseClause, *syntax.ForClause, *syntax.CaseItem:
			return true
		case *syntax.IfClause:
			if !within(n.Cond, st) {
				return true
			}
			if _, elif := path[max(i-1, 0)].(*syntax.IfClause); elif {
				return true
			}
		case *syntax.WhileClause:
			if !within(n.Cond, st) {
				return true
			}
		case *syntax.BinaryCmd:
			if (n.Op == syntax.AndStmt || n.Op == syntax.OrStmt) && st == n.Y {
				return true
			}
		}
	}
	return false
}

func within(list []*syntax.Stmt, st *syntax.Stmt) bool {
	return slices.Contains(list, st)
}
