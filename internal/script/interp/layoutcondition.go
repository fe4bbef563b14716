//go:build linux

package interp

import "mvdan.cc/sh/v3/syntax"

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
