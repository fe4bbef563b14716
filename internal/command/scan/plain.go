package scan

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Step is a command of a script that is plain: a program, or a builtin that
// starts nothing.
type Step struct {
	Line, Column int
	Words        []string
	Builtin      bool
	// Dirs are the directories in which it may run: several if a cd before it
	// may fail.
	Dirs []string
	// Reads and Writes are the files that its redirections open, absolute, in
	// each of Dirs.
	Reads, Writes []string
}

// maxDirs bounds in how many directories a command may be.
const maxDirs = 8

// Plain returns all that a script does, if its text tells: each command with all
// its words, the files that are opened, and the directories, beginning at dir.
// Otherwise the error is a [*Fault] that says where the text stops telling.
//
// It is for a script that another program runs, where nothing judges a command
// when it is reached. So what is plain is listed here, and all else is not.
func (s *Script) Plain(dir string) ([]Step, error) {
	if why := parseDoubt(s); why != "" {
		return nil, &Fault{Line: 1, Column: 1, What: why}
	}
	p := plain{}
	_, err := p.stmts(s.File.Stmts, []string{dir})
	if err != nil {
		return nil, err
	}
	return p.steps, nil
}

type plain struct{ steps []Step }

func vague(at syntax.Node, what string) error {
	return fault(at.Pos(), "", "%s is known only when it runs", what)
}

// stmts walks statements that follow each other, from any of some directories. It
// returns those in which the shell may be then.
func (p *plain) stmts(list []*syntax.Stmt, in []string) (out []string, err error) {
	for _, st := range list {
		if in, _, err = p.stmt(st, in); err != nil {
			return nil, err
		}
		if len(in) > maxDirs {
			return nil, vague(st, "the directory behind many cd")
		}
	}
	return in, nil
}

// stmt walks one statement. out are the directories behind it, good those if it
// succeeds.
func (p *plain) stmt(st *syntax.Stmt, in []string) (out, good []string, err error) {
	if st.Coprocess || st.Disown {
		return nil, nil, vague(st, "a coprocess")
	}
	reads, writes, err := p.redirects(st.Redirs, in)
	if err != nil {
		return nil, nil, err
	}
	call, single := st.Cmd.(*syntax.CallExpr)
	if single {
		out, good, err = p.call(call, in, reads, writes)
	} else {
		if len(reads)+len(writes) > 0 {
			p.steps = append(p.steps, Step{Line: int(st.Pos().Line()), Column: int(st.Pos().Col()), Builtin: true, Words: []string{":"}, Dirs: in, Reads: reads, Writes: writes})
		}
		out, err = p.compound(st.Cmd, in)
		good = out
	}
	if st.Negated {
		good = out
	}
	return out, good, err
}

// compound walks the few commands of commands that are plain. What is not listed
// is not.
func (p *plain) compound(c syntax.Command, in []string) ([]string, error) {
	switch c := c.(type) {
	case *syntax.BinaryCmd:
		out, good, err := p.stmt(c.X, in)
		if err != nil {
			return nil, err
		}
		next := out
		if c.Op == syntax.AndStmt {
			next = good
		}
		more, _, err := p.stmt(c.Y, next)
		return union(out, more), err
	case *syntax.Block:
		return p.stmts(c.Stmts, in)
	case *syntax.Subshell:
		_, err := p.stmts(c.Stmts, in)
		return in, err
	case *syntax.IfClause:
		return p.branches(c, in)
	case nil:
		return in, nil
	}
	return nil, vague(c, "what this part does")
}

func (p *plain) branches(c *syntax.IfClause, in []string) (out []string, err error) {
	for ; c != nil; c = c.Else {
		if in, err = p.stmts(c.Cond, in); err != nil {
			return nil, err
		}
		then, err := p.stmts(c.Then, in)
		if err != nil {
			return nil, err
		}
		out = union(out, then)
	}
	return union(out, in), nil
}

// call walks a simple command.
func (p *plain) call(c *syntax.CallExpr, in, reads, writes []string) (out, good []string, err error) {
	for _, a := range c.Assigns {
		return nil, nil, vague(a, "what an assigned variable changes")
	}
	step := Step{Line: int(c.Pos().Line()), Column: int(c.Pos().Col()), Dirs: in, Reads: reads, Writes: writes}
	for _, word := range c.Args {
		text, known := literal(word)
		switch {
		case !known:
			return nil, nil, vague(word, "the word")
		case strings.HasPrefix(text, "="):
			return nil, nil, fault(word.Pos(), "", "zsh would put a path in the place of this word")
		}
		step.Words = append(step.Words, text)
	}
	name := step.Words[0]
	step.Builtin = builtins[name]
	switch {
	case step.Builtin && !startsNothing(name, step.Words[1:]):
		return nil, nil, vague(c, "what "+name+" does here")
	case name == "", name[0] == '%', strings.Contains(name, "="):
		return nil, nil, vague(c, "which program it is")
	}
	p.steps = append(p.steps, step)
	if name == "cd" {
		for _, dir := range in {
			good = union(good, []string{absolute(dir, step.Words[1])})
		}
		return union(in, good), good, nil
	}
	return in, in, nil
}

// startsNothing reports whether a builtin starts nothing with these words, and
// changes nothing for the commands behind it but the directory.
func startsNothing(name string, args []string) bool {
	switch name {
	case ":", "true", "false", "echo", "pwd", "type":
		return true
	case "cd":
		return len(args) == 1 && args[0] != "" && args[0][0] != '-'
	case "exit":
		return len(args) == 0 || len(args) == 1 && descriptor(args[0])
	case "printf":
		return len(args) > 0 && (args[0] == "" || args[0][0] != '-')
	case "command":
		return len(args) > 1 && (args[0] == "-v" || args[0] == "-V")
	case "test", "[":
		return !slices.Contains(args, "-v") && !slices.Contains(args, "-R") && !slices.ContainsFunc(args, func(a string) bool { return strings.HasSuffix(a, "]") && len(a) > 1 })
	}
	return false
}

// redirects returns the files that redirections open.
func (p *plain) redirects(list []*syntax.Redirect, in []string) (reads, writes []string, err error) {
	for _, r := range list {
		if r.N != nil && r.N.Value != "0" && r.N.Value != "1" && r.N.Value != "2" {
			return nil, nil, vague(r, "a further descriptor")
		}
		word, known := literal(r.Word)
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			if !onlyText(r.Hdoc) {
				return nil, nil, vague(r, "the text")
			}
			continue
		case syntax.WordHdoc:
			if !known {
				return nil, nil, vague(r, "the text")
			}
			continue
		case syntax.DplIn, syntax.DplOut:
			if !known || word != "0" && word != "1" && word != "2" && word != "-" {
				return nil, nil, vague(r, "a further descriptor")
			}
			continue
		}
		if !known || word == "" {
			return nil, nil, vague(r, "the file")
		}
		for _, dir := range in {
			switch r.Op {
			case syntax.RdrIn:
				reads = union(reads, []string{absolute(dir, word)})
			case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
				writes = union(writes, []string{absolute(dir, word)})
			default:
				return nil, nil, vague(r, "the redirection")
			}
		}
	}
	return reads, writes, nil
}

// onlyText reports whether nothing in a here-document is expanded.
func onlyText(w *syntax.Word) bool {
	return w == nil || !slices.ContainsFunc(w.Parts, func(part syntax.WordPart) bool {
		_, text := part.(*syntax.Lit)
		return !text
	})
}

func absolute(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
