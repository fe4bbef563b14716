package scan

import "mvdan.cc/sh/v3/syntax"

const (
	inExpansion   = "it is in an expansion that may not need it"
	badExpansion  = "an expansion before it may fail, which ends the script"
	badArithmetic = "arithmetic before it may fail, which ends the script"
)

// expand walks the substitutions of a word in the order in which Bash expands
// it, and notes what the expansion may do to the shell.
func (w *walker) expand(s *state, n *syntax.Word, around string) {
	if n == nil {
		return
	}
	for _, p := range n.Parts {
		w.expandPart(s, p, around)
	}
}

// expandPart notes what one part of a word may do when it is expanded: commands
// in it are commands of the script, and arithmetic that is not constant may end
// it.
func (w *walker) expandPart(s *state, p syntax.WordPart, around string) {
	switch p := p.(type) {
	case *syntax.Lit, *syntax.SglQuoted:
	case *syntax.DblQuoted:
		for _, q := range p.Parts {
			w.expandPart(s, q, around)
		}
	case *syntax.CmdSubst:
		w.stmts(s.fork(), p.Stmts, s.unreached(around))
		s.noisy()
	case *syntax.ProcSubst:
		w.stmts(s.forkPiped(), p.Stmts, s.unreached(around))
	case *syntax.ParamExp:
		w.parameter(s, p)
		s.noisy()
	case *syntax.ArithmExp:
		if !constant(p.X) {
			w.arithmetic(s, p.X)
			s.ends(badArithmetic)
			s.noisy()
		}
	default:
		s.unsure("an expansion before it is not known here")
	}
}

// parameter walks an expansion of a variable.
func (w *walker) parameter(s *state, p *syntax.ParamExp) {
	if p.Repl != nil {
		w.expand(s, p.Repl.Orig, inExpansion)
		w.expand(s, p.Repl.With, inExpansion)
	}
	if p.Exp != nil {
		w.expand(s, p.Exp.Word, inExpansion)
	}
	if !steady(p) || s.nounset {
		w.arithmetic(s, p.Index)
		s.ends(badExpansion)
	}
	if p.Exp != nil && p.Param != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull) {
		s.assign(p.Param.Value)
	}
}

// steady reports whether an expansion cannot fail, except for set -u.
func steady(p *syntax.ParamExp) bool {
	switch {
	case p.Param == nil, p.NestedParam != nil, p.Flags != nil, p.Excl, p.Width, p.IsSet, p.Names != 0, len(p.Modifiers) > 0:
		return false
	case p.Index != nil && !element(p.Index):
		return false
	case p.Slice != nil && (!constant(p.Slice.Offset) || p.Slice.Length != nil && !digits(p.Slice.Length)):
		return false
	case p.Exp == nil:
		return true
	}
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
		syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix,
		syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		return true
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		return p.Index == nil && syntax.ValidName(p.Param.Value)
	}
	return false
}

// element reports whether an index cannot fail: a plain number, @ or *.
func element(x syntax.ArithmExpr) bool {
	n, is := x.(*syntax.Word)
	return digits(x) || is && (n.Lit() == "@" || n.Lit() == "*")
}

// digits reports whether an expression is a plain decimal number.
func digits(x syntax.ArithmExpr) bool {
	n, is := x.(*syntax.Word)
	if !is {
		return false
	}
	lit := n.Lit()
	for i := range len(lit) {
		if lit[i] < '0' || lit[i] > '9' {
			return false
		}
	}
	return lit != "" && len(lit) < 10 && (lit[0] != '0' || lit == "0")
}

// constant reports whether an expression has a value without a look at
// variables, and cannot fail.
func constant(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case *syntax.Word:
		return digits(x) || counts(x)
	case *syntax.ParenArithm:
		return constant(x.X)
	case *syntax.UnaryArithm:
		return (x.Op == syntax.Plus || x.Op == syntax.Minus || x.Op == syntax.Not) && constant(x.X)
	case *syntax.BinaryArithm:
		switch x.Op {
		case syntax.Add, syntax.Sub, syntax.Mul, syntax.Eql, syntax.Neq, syntax.Lss, syntax.Gtr, syntax.Leq, syntax.Geq:
			return constant(x.X) && constant(x.Y)
		}
	}
	return false
}

// counts reports whether a word is a parameter that always holds a number.
func counts(n *syntax.Word) bool {
	if len(n.Parts) != 1 {
		return false
	}
	part := n.Parts[0]
	if q, is := part.(*syntax.DblQuoted); is && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	p, is := part.(*syntax.ParamExp)
	return is && p.Short && p.Param != nil && (p.Param.Value == "?" || p.Param.Value == "#" || p.Param.Value == "$")
}

// arithmetic walks an expression that is evaluated. Its own failure ends no
// script; see ArithmExp for an expansion.
func (w *walker) arithmetic(s *state, x syntax.ArithmExpr) {
	if x == nil || constant(x) {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		if word, is := n.(*syntax.Word); is {
			w.expand(s, word, "it is in an arithmetic expression")
			return false
		}
		return true
	})
	s.assigns("arithmetic before it")
}

// computes notes that operands are evaluated, unless they are plain numbers. The
// value of a variable may be an expression that assigns.
func (s *state) computes(operands ...syntax.TestExpr) {
	for _, x := range operands {
		if n, is := x.(*syntax.Word); !is || !digits(n) && !counts(n) {
			s.assigns("arithmetic before it")
		}
	}
}
