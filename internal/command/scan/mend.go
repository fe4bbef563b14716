package scan

import "mvdan.cc/sh/v3/syntax"

// mend sets right where the parser reads a list that follows a declaration as the
// function's body: "f() { …; } && g" is a declaration and then g.
func mend(file *syntax.File) {
	syntax.Walk(file, func(n syntax.Node) bool {
		st, is := n.(*syntax.Stmt)
		if !is {
			return true
		}
		d, is := st.Cmd.(*syntax.FuncDecl)
		if !is || d.Body == nil {
			return true
		}
		list, is := d.Body.Cmd.(*syntax.BinaryCmd)
		if !is {
			return true
		}
		first := list
		for {
			next, is := first.X.Cmd.(*syntax.BinaryCmd)
			if !is || len(first.X.Redirs) > 0 {
				break
			}
			first = next
		}
		own := *d
		own.Body = first.X
		first.X = &syntax.Stmt{Position: d.Position, Cmd: &own}
		st.Cmd = list
		return true
	})
}
