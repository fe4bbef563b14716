//go:build linux

package bash

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (l *layout) call(c *syntax.CallExpr) {
	for i, a := range c.Assigns {
		if i > 0 {
			l.WriteString(" ")
		}
		l.assignment(a)
	}
	if len(c.Assigns) > 0 && len(c.Args) > 0 {
		l.WriteString(" ")
	}
	l.words(c.Args, " ")
}

func (l *layout) assignment(a *syntax.Assign) {
	if a.Name == nil {
		l.word(a.Value) // an option of declare
		return
	}
	l.WriteString(a.Name.Value)
	l.index(a.Index, a)
	if a.Naked {
		return
	}
	if a.Append {
		l.WriteString("+")
	}
	l.WriteString("=")
	if a.Array == nil {
		l.word(a.Value)
		return
	}
	l.WriteString("(")
	for i, e := range a.Array.Elems {
		if i > 0 {
			l.WriteString(" ")
		}
		if e.Index != nil {
			l.index(e.Index, e)
			l.WriteString("=")
		}
		l.word(e.Value)
	}
	l.WriteString(")")
}

// index writes an index that is one word: of others, the tree does not tell the spaces.
func (l *layout) index(x syntax.ArithmExpr, n syntax.Node) {
	if x == nil {
		return
	}
	w, ok := x.(*syntax.Word)
	if !ok || len(w.Parts) != 1 {
		refuse("an index like this", n)
	}
	l.WriteString("[")
	l.word(w)
	l.WriteString("]")
}

func (l *layout) words(list []*syntax.Word, between string) {
	for i, w := range list {
		if i > 0 {
			l.WriteString(between)
		}
		l.word(w)
	}
}

func (l *layout) word(w *syntax.Word) {
	if w != nil {
		for _, p := range w.Parts {
			l.part(p)
		}
	}
}

func (l *layout) part(p syntax.WordPart) {
	switch p := p.(type) {
	case *syntax.Lit:
		if strings.Contains(p.Value, "\\\n") || strings.ContainsAny(p.Value, "\x01\x7f") {
			refuse("a continued line", p)
		}
		l.WriteString(p.Value)
	case *syntax.SglQuoted:
		if p.Dollar {
			refuse("$' '", p)
		}
		l.WriteString("'" + p.Value + "'")
	case *syntax.DblQuoted:
		if p.Dollar {
			refuse(`$" "`, p)
		}
		l.WriteString(`"`)
		for _, q := range p.Parts {
			l.part(q)
		}
		l.WriteString(`"`)
	case *syntax.ParamExp:
		l.parameter(p)
	case *syntax.CmdSubst:
		if p.Backquotes || p.TempFile || p.ReplyVar || len(p.Stmts) == 0 {
			refuse("a substitution like this", p)
		}
		l.substitution("$(", p.Stmts)
	case *syntax.ProcSubst:
		if len(p.Stmts) == 0 {
			refuse("a substitution like this", p)
		}
		l.substitution(p.Op.String(), p.Stmts)
	case *syntax.ArithmExp:
		refuse("$(( ))", p)
	default:
		refuse("a word like this", p)
	}
}

func (l *layout) substitution(begin string, list []*syntax.Stmt) {
	outer := l.line
	l.line = true
	l.WriteString(begin)
	l.statements(list)
	l.WriteString(")")
	l.line = outer
}

func (l *layout) parameter(p *syntax.ParamExp) {
	if p.Param == nil || p.Width || p.Flags != nil || p.Slice != nil || p.IsSet || len(p.Modifiers) > 0 || p.NestedParam != nil || p.Repl != nil && p.Repl.With == nil {
		refuse("an expansion like this", p)
	}
	if p.Short {
		l.WriteString("$" + p.Param.Value)
		return
	}
	l.WriteString("${")
	if p.Excl {
		l.WriteString("!")
	}
	if p.Length {
		l.WriteString("#")
	}
	l.WriteString(p.Param.Value)
	l.index(p.Index, p)
	if p.Names != 0 {
		l.WriteString(p.Names.String())
	}
	if r := p.Repl; r != nil {
		l.WriteString(map[bool]string{false: "/", true: "//"}[r.All])
		l.word(r.Orig)
		l.WriteString("/")
		l.word(r.With)
	}
	if e := p.Exp; e != nil {
		l.WriteString(e.Op.String())
		l.word(e.Word)
	}
	l.WriteString("}")
}

// redirections writes those of a command, each with the descriptor that Bash names.
func (l *layout) redirections(list []*syntax.Redirect, before string) {
	for _, r := range list {
		l.WriteString(before)
		l.redirection(r)
	}
}

func (l *layout) redirection(r *syntax.Redirect) {
	fd := ""
	if r.N != nil {
		fd = r.N.Value
	}
	usual := "1"
	switch r.Op {
	case syntax.RdrIn, syntax.WordHdoc:
		usual = "0"
	case syntax.RdrInOut:
		usual = ""
		if fd == "" {
			fd = "0"
		}
		if fd == "1" {
			fd = ""
		}
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob:
	case syntax.RdrAll, syntax.AppAll:
		usual = ""
	case syntax.DplOut, syntax.DplIn:
		l.duplication(r, fd)
		return
	default:
		refuse("a here-document", r)
	}
	if fd == usual {
		fd = ""
	}
	l.WriteString(fd + r.Op.String() + " ")
	l.word(r.Word)
}

func (l *layout) duplication(r *syntax.Redirect, fd string) {
	to, op := r.Word.Lit(), r.Op.String()
	if to == "" || to != "-" && strings.Trim(to, "0123456789") != "" {
		refuse(op+" like this", r)
	}
	if fd == "" {
		fd = map[bool]string{false: "0", true: "1"}[r.Op == syntax.DplOut]
	}
	if to == "-" {
		op = ">&"
	}
	l.WriteString(fd + op + to)
}

// condition writes what stands in [[ ]].
func (l *layout) condition(x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.Word:
		l.WriteString("-n ")
		l.word(x)
	case *syntax.ParenTest:
		l.WriteString("( ")
		l.condition(x.X)
		l.WriteString(" )")
	case *syntax.UnaryTest:
		l.WriteString(x.Op.String() + " ")
		if w, ok := x.X.(*syntax.Word); ok && x.Op != syntax.TsNot {
			l.word(w)
			return
		}
		l.condition(x.X)
	case *syntax.BinaryTest:
		if x.Op == syntax.AndTest || x.Op == syntax.OrTest {
			l.condition(x.X)
			l.WriteString(" " + x.Op.String() + " ")
			l.condition(x.Y)
			return
		}
		left, ok := x.X.(*syntax.Word)
		right, too := x.Y.(*syntax.Word)
		if !ok || !too {
			refuse("[[ ]] like this", x)
		}
		l.word(left)
		l.WriteString(" " + x.Op.String() + " ")
		l.word(right)
	default:
		refuse("[[ ]] like this", x)
	}
}
