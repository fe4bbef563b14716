//go:build linux

package interp

import "mvdan.cc/sh/v3/syntax"

func (l *layout) compound(st *syntax.Stmt) {
	switch c := st.Cmd.(type) {
	case *syntax.Block:
		l.WriteString("{ ")
		l.block(c.Stmts)
		l.newline("}")
	case *syntax.Subshell:
		l.WriteString("( ")
		l.statements(c.Stmts)
		l.WriteString(" )")
	case *syntax.IfClause:
		l.choice(c)
	case *syntax.WhileClause:
		l.WriteString(map[bool]string{false: "while ", true: "until "}[c.Until])
		l.statements(c.Cond)
		l.separate()
		l.WriteString(" do")
		l.loop(c.Do)
	case *syntax.ForClause:
		l.each(c)
	case *syntax.CaseClause:
		l.cases(c)
	case *syntax.FuncDecl:
		if !validName(c.Name.Value) || len(st.Redirs) > 0 {
			refuse("a function like this", c)
		}
		l.WriteString("function " + c.Name.Value + " () \n")
		l.body(c.Body)
	case *syntax.ArithmCmd:
		refuse("(( ))", c)
	case *syntax.LetClause:
		refuse("let", c)
	default:
		refuse("a command of this kind", st)
	}
}

// loop writes what a loop repeats, after its do.
func (l *layout) loop(list []*syntax.Stmt) {
	l.block(list)
	l.separate()
	l.newline("done")
}

func (l *layout) choice(c *syntax.IfClause) {
	l.WriteString("if ")
	l.statements(c.Cond)
	l.separate()
	l.WriteString(" then")
	l.block(c.Then)
	if e := c.Else; e != nil {
		l.separate()
		l.newline("else")
		if len(e.Cond) == 0 {
			l.block(e.Then)
		} else {
			l.depth++
			l.newline("")
			l.choice(e)
			l.depth--
		}
	}
	l.separate()
	l.newline("fi")
}

func (l *layout) each(c *syntax.ForClause) {
	loop, ok := c.Loop.(*syntax.WordIter)
	if !ok || c.Braces || c.Select {
		refuse("a loop like this", c)
	}
	l.WriteString("for " + loop.Name.Value + " in ")
	if !loop.InPos.IsValid() {
		l.WriteString(`"$@"`)
	}
	l.words(loop.Items, " ")
	l.WriteString(";")
	l.newline("do")
	l.loop(c.Do)
}

func (l *layout) cases(c *syntax.CaseClause) {
	l.WriteString("case ")
	l.word(c.Word)
	l.WriteString(" in ")
	l.depth++
	for _, item := range c.Items {
		l.newline("")
		l.words(item.Patterns, " | ")
		l.WriteString(")")
		if len(item.Stmts) == 0 {
			l.WriteString("\n")
		} else {
			l.block(item.Stmts)
		}
		l.newline(item.Op.String())
	}
	l.depth--
	l.newline("esac")
}
