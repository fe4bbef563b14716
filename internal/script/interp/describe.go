//go:build linux

package interp

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// print is a function's text, for declare -f, type and the next script of the session.
// It is laid out as the parser's own printer does it, not as Bash does: Bash and this
// shell read both as the same function.
func (f *function) print() string {
	var t bytes.Buffer
	if err := syntax.NewPrinter().Print(&t, &syntax.Stmt{Cmd: f.decl, Position: f.decl.Pos()}); err != nil {
		return ""
	}
	return separated(t.String()) + "\n"
}

// separated inserts the semicolons that the printer of sh 3.14.1 omits. After
// "{ a & } >x" and "{ case … esac; } >x" it takes the & or ;; inside the braces for
// the end of the outer command, and writes a reserved word right behind x. The parser
// accepts that; Bash does not.
func separated(text string) string {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return text
	}
	var ends []uint
	syntax.Walk(file, func(n syntax.Node) bool {
		st, is := n.(*syntax.Stmt)
		if !is || len(st.Redirs) == 0 {
			return true
		}
		end := st.Redirs[len(st.Redirs)-1].Word.End().Offset()
		next := strings.TrimLeft(text[end:], " ")
		switch st.Cmd.(type) {
		case *syntax.CallExpr, *syntax.DeclClause, nil: // words may follow
		default:
			if next != "" && !strings.ContainsRune(";&|)\n", rune(next[0])) {
				ends = append(ends, end)
			}
		}
		return true
	})
	slices.Sort(ends)
	for _, end := range slices.Backward(ends) {
		text = text[:end] + ";" + text[end:]
	}
	return text
}

// sourceOfStmt is a statement's text on one line, for jobs.
func sourceOfStmt(st *syntax.Stmt) string {
	var t bytes.Buffer
	if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&t, st); err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSpace(t.String()), "&")
}

// find is the path of a program, as PATH has it; "" if there is none.
func (s *Shell) find(name string) string {
	executable := func(p string) bool {
		st, err := stat(s.dir, p, true)
		return err == nil && isRegular(st) && permits(s.dir, p, 1)
	}
	if strings.Contains(name, "/") {
		if executable(name) {
			return name
		}
		return ""
	}
	for dir := range strings.SplitSeq(s.text("PATH"), ":") {
		if dir == "" {
			dir = "."
		}
		if p := path.Join(dir, name); executable(p) {
			if dir == "." {
				return "./" + name
			}
			return dir + "/" + name
		}
	}
	return ""
}

// describe is command -v and -V.
func (s *Shell) describe(names []string, long bool) int {
	status := 1
	for _, name := range names {
		kind, text := s.meaning(name)
		switch {
		case kind == "":
			if long {
				s.errorf("command: %s: not found", name)
			}
			continue
		case long:
			if w := s.long(name, kind, text); w != 0 {
				return w
			}
		default:
			if w := s.wrote(text + "\n"); w != 0 {
				return w
			}
		}
		status = 0
	}
	return status
}

// meaning is what a name would run.
func (s *Shell) meaning(name string) (kind, text string) {
	switch {
	case syntax.IsKeyword(name) || name == "time":
		return "keyword", name
	case s.functions[name] != nil:
		return "function", name
	case s.builtin(name) != nil:
		return "builtin", name
	}
	if p := s.find(name); p != "" {
		return "file", p
	}
	return "", ""
}

func (s *Shell) long(name, kind, text string) int {
	switch kind {
	case "keyword":
		return s.wrote(name + " is a shell keyword\n")
	case "builtin":
		return s.wrote(name + " is a shell builtin\n")
	case "function":
		if w := s.wrote(name + " is a function\n"); w != 0 {
			return w
		}
		return s.wrote(s.functions[name].print())
	}
	if s.hashed[name] {
		return s.wrote(name + " is hashed (" + text + ")\n")
	}
	return s.wrote(name + " is " + text + "\n")
}

// typeOf is type.
func typeOf(s *Shell, a []string) int {
	mode := byte(0)
	args := a[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		opt := args[0]
		args = args[1:]
		if opt == "--" {
			break
		}
		for _, c := range opt[1:] {
			switch c {
			case 't', 'p', 'P':
				mode = byte(c)
			case 'a', 'f':
				return s.unsupported("type", "-"+string(c), "type and type -t, -p, -P are.")
			default:
				return s.usage("type", "%s: invalid option", opt)
			}
		}
	}
	status := 0
	for _, name := range args {
		kind, text := s.meaning(name)
		if mode == 'P' {
			kind, text = "file", s.find(name)
			if text == "" {
				kind = ""
			}
		}
		var w int
		switch {
		case kind == "":
			status = 1
			if mode == 0 {
				s.errorf("type: %s: not found", name)
			}
		case mode == 't':
			w = s.wrote(kind + "\n")
		case mode != 0:
			if kind == "file" {
				w = s.wrote(text + "\n")
			}
		default:
			w = s.long(name, kind, text)
		}
		if w != 0 {
			return w
		}
	}
	return status
}

// hash keeps nothing: each command is looked for when it is run.
func hash(s *Shell, a []string) int {
	if len(a) == 1 {
		return s.unsupported("hash", "a list of programs", "hash -r and hash NAME are.")
	}
	status := 0
	for _, name := range a[1:] {
		if strings.HasPrefix(name, "-") {
			if name == "-r" {
				continue
			}
			return s.unsupported("hash", name, "")
		}
		if s.builtin(name) == nil && s.functions[name] == nil && s.find(name) == "" {
			s.errorf("hash: %s: not found", name)
			status = 1
		}
	}
	return status
}

func let(s *Shell, a []string) int {
	if len(a) == 1 {
		s.errorf("let: expression expected")
		return 1
	}
	var n int64
	for _, text := range a[1:] {
		var err error
		if n, err = s.arithmeticText(text); err != nil {
			s.arithmeticFails("let", err)
			return s.status
		}
	}
	return oneIf(n == 0)
}
