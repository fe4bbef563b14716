package scan

import "mvdan.cc/sh/v3/syntax"

// stmts walks a list. around says why the list as a whole may not be reached.
func (w *walker) stmts(s *state, list []*syntax.Stmt, around string) {
	for _, st := range list {
		w.stmt(s, st, around)
	}
}

// stmt walks one statement. What runs in the background is a process of its
// own, which changes nothing in this shell; after set -e, a statement that may
// fail may be the last one.
func (w *walker) stmt(s *state, st *syntax.Stmt, around string) {
	if st == nil {
		return
	}
	own := s
	if st.Background || st.Coprocess || st.Disown {
		own = s.forkPiped()
	}
	if call, is := st.Cmd.(*syntax.CallExpr); is {
		w.call(own, call, st.Redirs, around)
	} else {
		w.compound(own, st, around)
	}
	if s.errexit && own == s && !succeeds(st) {
		s.ends("after set -e, a command before it may end the script")
	}
}

// succeeds reports whether a statement cannot fail.
func succeeds(st *syntax.Stmt) bool {
	if st.Negated || len(st.Redirs) > 0 {
		return false
	}
	c, is := st.Cmd.(*syntax.CallExpr)
	if _, declares := st.Cmd.(*syntax.FuncDecl); declares {
		return true
	}
	if !is {
		return false
	}
	for _, a := range c.Assigns {
		if !plainAssign(a) {
			return false
		}
	}
	if len(c.Args) == 0 {
		return true
	}
	name, _ := literal(c.Args[0])
	return name == ":" || name == "true" || name == "set"
}

// compound walks everything but simple commands: first the redirections, which
// are opened before anything in it runs.
func (w *walker) compound(s *state, st *syntax.Stmt, around string) {
	w.analysis.Writes = append(w.analysis.Writes, w.writes(st.Redirs, s.unreached(around))...)
	sure := w.redirects(s, st.Redirs, around)
	if !sure {
		s.noisy()
		note(&around, "a redirection around it may fail")
	}
	switch c := st.Cmd.(type) {
	case nil:
	case *syntax.Block:
		w.stmts(s, c.Stmts, around)
	case *syntax.Subshell:
		w.stmts(s.fork(), c.Stmts, around)
	case *syntax.BinaryCmd:
		w.binary(s, c, around)
	case *syntax.IfClause:
		w.ifs(s, c, around)
	case *syntax.WhileClause:
		w.loop(s, func() {
			w.stmts(s, c.Cond, around)
			w.stmts(s, c.Do, "it is in a loop")
		})
	case *syntax.ForClause:
		w.forEach(s, c, around)
	case *syntax.CaseClause:
		w.expand(s, c.Word, around)
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				w.expand(s, p, inCase)
			}
			w.stmts(s, item.Stmts, inCase)
		}
	case *syntax.FuncDecl:
		w.function(s, c)
	case *syntax.TestClause:
		w.test(s, c.X, around)
		s.noisy()
	case *syntax.ArithmCmd:
		w.arithmetic(s, c.X)
		s.noisy()
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			w.arithmetic(s, x)
		}
		s.noisy()
	case *syntax.DeclClause:
		w.declare(s, c, around)
		s.noisy()
	case *syntax.TimeClause:
		w.stmt(s, c.Stmt, around)
		s.noisy()
	default:
		w.strange(s, st)
	}
}

const inCase = "it is in a case"

// noisy notes that the shell itself may have written something, an error for
// example.
func (s *state) noisy() {
	if s.piped {
		s.ends("what its shell writes before it may find no reader, which ends the shell")
	}
}

func (w *walker) binary(s *state, c *syntax.BinaryCmd, around string) {
	switch c.Op {
	case syntax.AndStmt, syntax.OrStmt:
		w.stmt(s, c.X, around)
		note(&around, "it depends on the command before "+c.Op.String())
		w.stmt(s, c.Y, around)
	default: // each part of a pipeline is a shell of its own
		w.stmt(s.forkPiped(), c.X, around)
		if _, is := c.Y.Cmd.(*syntax.TimeClause); is || c.Y.Negated {
			note(&around, "Bash takes time for the name of a program here")
		}
		w.stmt(s.fork(), c.Y, around)
	}
}

func (w *walker) ifs(s *state, c *syntax.IfClause, around string) {
	w.stmts(s, c.Cond, around)
	for branch := c; branch != nil; branch = branch.Else {
		if branch != c {
			w.stmts(s, branch.Cond, inIf)
		}
		w.stmts(s, branch.Then, inIf)
	}
}

const inIf = "it is in an if"

// loop walks a loop. break and continue have their effect up to the end of the
// outermost one, because they may leave several.
func (w *walker) loop(s *state, body func()) {
	s.loops++
	body()
	s.loops--
	if s.loops == 0 {
		s.loopEnded = ""
	}
}

// forEach walks a for loop. Its body may run any number of times, also never.
func (w *walker) forEach(s *state, c *syntax.ForClause, around string) {
	const in = "it is in a loop"
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		for _, item := range l.Items {
			w.expand(s, item, around)
		}
		s.assign(l.Name.Value)
	case *syntax.CStyleLoop:
		w.arithmetic(s, l.Init)
		w.arithmetic(s, l.Cond)
		w.arithmetic(s, l.Post)
	default:
		s.unsure("a loop before it is not known")
	}
	w.loop(s, func() { w.stmts(s, c.Do, in) })
	s.noisy()
}

// function walks a declaration. What the body does, it does when it is called.
func (w *walker) function(s *state, c *syntax.FuncDecl) {
	for _, name := range append([]*syntax.Lit{c.Name}, c.Names...) {
		if name != nil {
			s.declare(name.Value)
		}
	}
	body := s.fork()
	body.loops = 0
	w.stmt(body, c.Body, "it is in a function")
}

// test walks the expression of [[. Comparisons of numbers compute their words
// as arithmetic, which may run commands.
func (w *walker) test(s *state, x syntax.TestExpr, around string) {
	switch x := x.(type) {
	case *syntax.Word:
		w.expand(s, x, around)
	case *syntax.ParenTest:
		w.test(s, x.X, around)
	case *syntax.UnaryTest:
		w.test(s, x.X, around)
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			s.ends(badArithmetic)
		}
	case *syntax.BinaryTest:
		w.test(s, x.X, around)
		switch x.Op {
		case syntax.AndTest, syntax.OrTest:
			note(&around, "it depends on the test before "+x.Op.String())
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			s.computes(x.X, x.Y)
		}
		w.test(s, x.Y, around)
	}
}

// strange walks a statement that no other case knows.
func (w *walker) strange(s *state, st *syntax.Stmt) {
	const why = "a command before it is not known here"
	s.unsure(why)
	syntax.Walk(st.Cmd, func(n syntax.Node) bool {
		if inner, is := n.(*syntax.Stmt); is && inner != st {
			w.stmt(s.fork(), inner, why)
			return false
		}
		return true
	})
}
