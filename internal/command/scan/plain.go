package scan

import (
	"path"
	"reflect"
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
// when it is reached. So what is plain is what two readers find in the same words:
// the lexer of this package, which knows only what Bash, dash and zsh read alike,
// and the parser.
func (s *Script) Plain(dir string) ([]Step, error) {
	for _, f := range s.Later {
		return nil, f
	}
	ours, err := lex(s.Text)
	if err != nil {
		return nil, err
	}
	theirs, err := flatten(s.File.Stmts, "")
	if err != nil {
		return nil, err
	}
	for i, c := range ours {
		if i >= len(theirs) || !reflect.DeepEqual(c, theirs[i]) {
			return nil, &Fault{Line: max(c.line, 1), Column: max(c.column, 1), What: "two readers of this line disagree about what it says"}
		}
	}
	if len(theirs) > len(ours) {
		return nil, &Fault{Line: 1, Column: 1, What: "two readers of this line disagree about what it says"}
	}
	return steps(ours, dir)
}

func vague(at syntax.Node, what string) error {
	return fault(at.Pos(), "", "%s is known only when it runs", what)
}

// flatten lists the simple commands of parsed statements as [lex] lists those of a
// text. Statements of other kinds are not plain.
func flatten(list []*syntax.Stmt, join string) (out []*lexed, err error) {
	for _, st := range list {
		more, err := flattened(st, join)
		if err != nil {
			return nil, err
		}
		out, join = append(out, more...), ";"
	}
	return out, nil
}

// flattened lists the simple commands of one statement, of which join stands first.
func flattened(st *syntax.Stmt, join string) ([]*lexed, error) {
	if st.Negated || st.Background || st.Coprocess || st.Disown {
		return nil, vague(st, "what this part does")
	}
	switch c := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		if len(st.Redirs) > 0 {
			break
		}
		out, err := flattened(c.X, join)
		if err != nil {
			return nil, err
		}
		more, err := flattened(c.Y, c.Op.String())
		return append(out, more...), err
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 {
			return nil, vague(c.Assigns[0], "what an assigned variable changes")
		}
		one := &lexed{line: int(c.Pos().Line()), column: int(c.Pos().Col()), join: join}
		for _, word := range c.Args {
			text, known := literal(word)
			if !known {
				return nil, vague(word, "the word")
			}
			one.words = append(one.words, text)
		}
		for _, r := range st.Redirs {
			redirect, err := flatRedirect(r)
			if err != nil {
				return nil, err
			}
			one.redirects = append(one.redirects, redirect)
		}
		return []*lexed{one}, nil
	}
	return nil, vague(st, "what this part does")
}

// flatRedirect is a parsed redirection as the lexer lists it.
func flatRedirect(r *syntax.Redirect) (lexedRedirect, error) {
	out := lexedRedirect{operator: r.Op.String()}
	if r.N != nil {
		out.number = r.N.Value
	}
	word, known := literal(r.Word)
	if !known {
		return out, vague(r, "the file")
	}
	out.word = word
	if r.Hdoc != nil {
		for _, part := range r.Hdoc.Parts {
			text, is := part.(*syntax.Lit)
			if !is {
				return out, vague(r, "the text")
			}
			out.text += text.Value
		}
	}
	return out, nil
}

// steps says where each command may run, and what it opens. A list goes on in every
// directory in which a cd before it may have left the shell: out are those after the
// list so far, good those if all of it has succeeded.
func steps(list []*lexed, dir string) (all []Step, err error) {
	var in, out, good []string
	out, good = []string{dir}, []string{dir}
	for _, c := range list {
		switch c.join {
		case "", ";":
			in, good = out, out
		case "&&":
			in = good
		case "||":
			in = out
		} // one behind a pipe begins where the one before it began
		step := Step{Line: c.line, Column: c.column, Words: c.words, Dirs: in}
		if err := step.check(c); err != nil {
			return nil, err
		}
		for _, r := range c.redirects {
			step.open(r)
		}
		all = append(all, step)
		after := in
		if step.Builtin && step.Words[0] == "cd" {
			after = nil
			for _, d := range in {
				after = union(after, []string{absolute(d, step.Words[1])})
			}
			out = union(out, after)
		}
		if c.join == "||" || c.join == "|" {
			good = union(good, after)
		} else {
			good = after
		}
		if len(out) > maxDirs {
			return nil, &Fault{Line: c.line, Column: c.column, What: "the directory behind many cd is known only when it runs"}
		}
	}
	return all, nil
}

// check says why a command is not plain, although its words are, and whether it is a
// builtin.
func (s *Step) check(c *lexed) error {
	unclear := func(what string) error {
		return &Fault{Line: max(c.line, 1), Column: max(c.column, 1), What: what + " is known only when it runs"}
	}
	if len(c.words) == 0 {
		return unclear("what a redirection without a command does")
	}
	name := c.words[0]
	s.Builtin = builtins[name]
	switch {
	case s.Builtin && !startsNothing(name, c.words[1:]):
		return unclear("what " + name + " does here")
	case !s.Builtin && (name == "" || name[0] == '%' || strings.Contains(name, "=") || zshWords[name]):
		return unclear("which program it is")
	}
	for _, r := range c.redirects {
		if r.operator != "<<" && r.operator != ">&" && goesUpBehindAName(r.word) {
			return unclear("the file")
		}
	}
	return nil
}

// open notes the file of a redirection, in each directory.
func (s *Step) open(r lexedRedirect) {
	for _, dir := range s.Dirs {
		switch r.operator {
		case "<":
			s.Reads = union(s.Reads, []string{absolute(dir, r.word)})
		case ">", ">>":
			s.Writes = union(s.Writes, []string{absolute(dir, r.word)})
		}
	}
}

// goesUpBehindAName reports whether a path leads up again from a directory that it
// names. If that is a link, it leads elsewhere than the path says.
func goesUpBehindAName(name string) bool {
	named := false
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." && named {
			return true
		}
		named = named || part != ".." && part != "." && part != ""
	}
	return false
}

// startsNothing reports whether a builtin starts nothing with these words in any of
// the three shells, and changes nothing for the commands behind it but the directory.
func startsNothing(name string, args []string) bool {
	switch name {
	case ":", "true", "false", "echo", "pwd", "type":
		return true
	case "cd": // +1 and -1 are entries of a list of zsh
		return len(args) == 1 && args[0] != "" && args[0][0] != '-' && args[0][0] != '+' && !goesUpBehindAName(args[0])
	case "exit":
		return len(args) == 0 || len(args) == 1 && descriptor(args[0])
	case "printf":
		return len(args) > 0 && (args[0] == "" || args[0][0] != '-') && (printsText(args[0]) || !slices.ContainsFunc(args[1:], notDigits))
	case "command":
		return len(args) > 1 && (args[0] == "-v" || args[0] == "-V")
	case "test":
		return !slices.ContainsFunc(args, func(a string) bool { return slices.Contains(calculating, a) })
	}
	return false
}

// calculating are the operators of test that look at a variable, or that zsh takes
// numbers for: it evaluates them, with the commands that are in them.
var calculating = []string{"-v", "-R", "-t", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"}

// printsText reports whether a format of printf asks for text alone. What it takes
// for a number is evaluated by zsh.
func printsText(format string) bool {
	for rest := format; ; {
		_, after, found := strings.Cut(rest, "%")
		if !found {
			return true
		}
		if after == "" || strings.IndexByte("%s", after[0]) < 0 {
			return false
		}
		rest = after[1:]
	}
}

func notDigits(s string) bool { return strings.Trim(s, "0123456789") != "" }

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
