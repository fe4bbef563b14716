//go:build linux

package interp

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
