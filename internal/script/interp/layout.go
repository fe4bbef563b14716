//go:build linux

package interp

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// layout writes functions as Bash 5.2 prints them. It panics with an uncertain for
// what it cannot write exactly like Bash.
type layout struct {
	strings.Builder
	depth int
	line  bool // on one line: in $( ) and the like
}

// uncertain is a construct whose text Bash keeps in a form that the tree does not tell.
type uncertain struct {
	what string
	at   syntax.Pos
}

// laidOut is the text of a function as declare -f prints it, or why there is none.
func laidOut(d *syntax.FuncDecl) (text string, no *uncertain) {
	defer func() {
		switch u := recover().(type) {
		case nil:
		case uncertain:
			no = &u
		default:
			panic(u)
		}
	}()
	var l layout
	if !validName(d.Name.Value) {
		refuse("its name", d)
	}
	l.WriteString(d.Name.Value + " () \n")
	l.body(d.Body)
	return l.String() + "\n", nil
}

func refuse(what string, n syntax.Node) { panic(uncertain{what, n.Pos()}) }

// newline begins a line.
func (l *layout) newline(text string) {
	l.WriteString("\n" + strings.Repeat("    ", l.depth) + text)
}

// separate ends a command before a word of the shell.
func (l *layout) separate() {
	if s := l.String(); !strings.HasSuffix(s, "&") && !strings.HasSuffix(s, "\n") {
		l.WriteString(";")
	}
}

// body writes the body of a function between braces, which stand on lines of their own.
func (l *layout) body(st *syntax.Stmt) {
	if b, ok := st.Cmd.(*syntax.Block); ok && !st.Negated && !st.Background {
		l.group(b.Stmts)
		l.redirections(st.Redirs, " ")
		return
	}
	if _, ok := st.Cmd.(*syntax.Subshell); !ok || len(st.Redirs) > 0 {
		refuse("a body without braces", st)
	}
	l.group([]*syntax.Stmt{st})
}

func (l *layout) group(list []*syntax.Stmt) {
	l.WriteString(strings.Repeat("    ", l.depth) + "{ ")
	l.block(list)
	l.newline("}")
}

// block writes statements on lines of their own.
func (l *layout) block(list []*syntax.Stmt) {
	l.depth++
	l.newline("")
	l.statements(list)
	l.depth--
}

func (l *layout) statements(list []*syntax.Stmt) {
	for i, st := range list {
		l.statement(st)
		switch {
		case st.Background && l.line:
			refuse("& in a substitution", st)
		case st.Background:
			l.WriteString(" &")
			if i < len(list)-1 {
				l.WriteString(" ")
			}
		case i == len(list)-1:
		case l.line:
			l.WriteString("; ")
		default:
			l.WriteString(";")
			l.newline("")
		}
	}
}

func (l *layout) statement(st *syntax.Stmt) {
	if st.Coprocess || st.Disown {
		refuse("a coprocess", st)
	}
	if st.Negated {
		l.WriteString("! ")
	}
	before := l.Len()
	switch c := st.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		l.call(c)
	case *syntax.DeclClause:
		l.WriteString(c.Variant.Value)
		for _, a := range c.Args {
			l.WriteString(" ")
			l.assignment(a)
		}
	case *syntax.BinaryCmd:
		l.binary(c)
	case *syntax.TestClause:
		l.WriteString("[[ ")
		l.condition(c.X)
		l.WriteString(" ]]")
	case *syntax.TimeClause:
		l.time(c)
	default:
		if l.line {
			refuse("a compound command in a substitution", st)
		}
		l.compound(st)
	}
	if l.Len() == before {
		refuse("a command without words", st)
	}
	if _, inBody := st.Cmd.(*syntax.FuncDecl); !inBody {
		l.redirections(st.Redirs, " ")
	}
}

func (l *layout) time(c *syntax.TimeClause) {
	if c.Stmt == nil || c.Stmt.Negated || len(c.Stmt.Redirs) > 0 {
		refuse("time with this", c)
	}
	l.WriteString("time ")
	if c.PosixFormat {
		l.WriteString("-p ")
	}
	l.statement(c.Stmt)
}

func (l *layout) binary(c *syntax.BinaryCmd) {
	l.statement(c.X)
	op := c.Op.String()
	if c.Op == syntax.PipeAll {
		if _, simple := c.X.Cmd.(*syntax.CallExpr); !simple {
			refuse("|&", c)
		}
		l.WriteString(" 2>&1")
		op = "|"
	}
	l.WriteString(" " + op + " ")
	l.statement(c.Y)
}
