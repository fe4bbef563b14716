package scan

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Where a command of a script gets its standard input from, in words for people.
const (
	FromScript   = "the script's own input"
	FromNothing  = "nothing"
	FromText     = "a here-document"
	FromWritten  = "a here-document around it, as it is written"
	FromPipeline = "the pipeline"
	FromFile     = "a file"
	// FromElsewhere is what the text at the command's place does not show: a function's
	// caller, another descriptor.
	FromElsewhere = "elsewhere"
)

// Statement is the position of a command in its script, for a person who has to allow it.
type Statement struct {
	// Line and Column are where the simple command begins, from 1.
	Line, Column int
	// Text is the outermost statement around it, in whole lines, with the texts of its
	// here-documents.
	Text  string
	Input Input
}

// Input says where a command's standard input comes from.
type Input struct {
	From string
	// Text is what a here-document has, or a pipeline as it is written.
	Text string
	// Name and SHA256 are those of a file; the text alone does not know the sum.
	Name, SHA256 string
}

// Statement returns the statement at a place, as the interpreter and [Script.Analyze]
// name it. known is false where a part of its input is known only when the script
// comes to it; found, where no simple command begins there.
func (s *Script) Statement(line, column int) (st Statement, known, found bool) {
	above := s.ancestors(line, column)
	if above == nil {
		return Statement{Line: line, Column: column, Text: s.Text, Input: Input{From: FromElsewhere}}, false, false
	}
	at := above[len(above)-1].Pos() // of a statement
	st = Statement{Line: int(at.Line()), Column: int(at.Col()), Text: s.lines(outermost(above))}
	st.Input, known = s.input(above)
	return st, known, true
}

// ancestors returns the nodes from the file down to the statement of a simple command;
// nil if none begins there.
func (s *Script) ancestors(line, column int) (found []syntax.Node) {
	here := func(p syntax.Pos) bool { return int(p.Line()) == line && int(p.Col()) == column }
	var stack []syntax.Node
	syntax.Walk(s.File, func(n syntax.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if found != nil {
			return false
		}
		stack = append(stack, n)
		if st, is := n.(*syntax.Stmt); is {
			if c, simple := st.Cmd.(*syntax.CallExpr); simple && len(c.Args) > 0 && (here(st.Position) || here(c.Args[0].Pos())) {
				found = append(found, stack...)
			}
		}
		return true
	})
	return found
}

// outermost is the statement of the script itself.
func outermost(above []syntax.Node) syntax.Node {
	for _, n := range above {
		if st, is := n.(*syntax.Stmt); is {
			return st
		}
	}
	return above[0]
}

// lines returns the lines of a node, with those of its here-documents and their ends.
func (s *Script) lines(n syntax.Node) string {
	from, to, documents := int(n.Pos().Line()), int(n.End().Line()), false
	syntax.Walk(n, func(inner syntax.Node) bool {
		if r, is := inner.(*syntax.Redirect); is && r.Hdoc != nil {
			documents = true
			to = max(to, int(r.Hdoc.End().Line()))
		}
		return true
	})
	all := strings.SplitAfter(s.Text, "\n")
	if documents {
		to++ // the line that ends the last one
	}
	from, to = max(from-1, 0), min(to, len(all))
	return strings.Join(all[min(from, to):to], "")
}

// input finds where standard input comes from, from the command outwards.
func (s *Script) input(above []syntax.Node) (in Input, known bool) {
	for i := len(above) - 1; i >= 0; i-- {
		switch n := above[i].(type) {
		case *syntax.Stmt:
			if r := feeding(n.Redirs); r != nil {
				return s.redirected(r, i == len(above)-1)
			}
			if n.Coprocess {
				return Input{From: FromElsewhere}, false
			}
			if n.Background {
				return Input{From: FromNothing}, true
			}
		case *syntax.BinaryCmd:
			if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && i+1 < len(above) && above[i+1] == syntax.Node(n.Y) {
				return Input{From: FromPipeline, Text: s.lines(n)}, true
			}
		case *syntax.FuncDecl:
			return Input{From: FromElsewhere}, false
		}
	}
	return Input{From: FromScript}, true
}

// feeding is the last redirection of standard input; nil: there is none.
func feeding(list []*syntax.Redirect) (last *syntax.Redirect) {
	for _, r := range list {
		switch r.Op {
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			if r.N == nil || r.N.Value == "0" {
				last = r
			}
		}
	}
	return last
}

// redirected is what a redirection gives. The text of a here-document around the
// command is left as it is written where it is not literal: others read it, too.
func (s *Script) redirected(r *syntax.Redirect, own bool) (in Input, known bool) {
	switch r.Op {
	case syntax.RdrIn, syntax.RdrInOut:
		name, known := literal(r.Word)
		return Input{From: FromFile, Name: name}, known
	case syntax.WordHdoc:
		if text, known := literal(r.Word); known {
			return Input{From: FromText, Text: text + "\n"}, true
		}
	case syntax.Hdoc, syntax.DashHdoc:
		if text, known := documentText(r); known {
			return Input{From: FromText, Text: text}, true
		}
	default:
		return Input{From: FromElsewhere}, false
	}
	if own {
		return Input{From: FromText}, false
	}
	return Input{From: FromWritten, Text: s.lines(r)}, true
}

// documentText is the text of a here-document in which nothing is expanded.
func documentText(r *syntax.Redirect) (text string, known bool) {
	if r.Hdoc == nil {
		return "", true
	}
	quoted := false
	for _, p := range r.Word.Parts {
		l, plain := p.(*syntax.Lit)
		quoted = quoted || !plain || strings.Contains(l.Value, `\`)
	}
	var b strings.Builder
	for _, p := range r.Hdoc.Parts {
		l, plain := p.(*syntax.Lit)
		if !plain || !quoted && strings.Contains(l.Value, `\`) {
			return "", false
		}
		b.WriteString(l.Value)
	}
	text = b.String()
	if r.Op == syntax.DashHdoc {
		lines := strings.SplitAfter(text, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		text = strings.Join(lines, "")
	}
	return text, true
}
