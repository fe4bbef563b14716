//go:build linux

package interp

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// call calls a function.
func (s *Shell) call(f *function, words []string) {
	if !s.deeper(words[0]) {
		return
	}
	params, loops, outer := s.params, s.loops, s.vars
	s.params, s.loops = words[1:], 0
	s.vars = &scope{names: map[string]variable{}, outer: outer}
	s.calls = append(slices.Clip(s.calls), frame{words[0], f.file})
	s.statement(f.body)
	s.calls = s.calls[:len(s.calls)-1]
	s.params, s.loops, s.vars = params, loops, outer
	s.depth--
	if s.jump == toReturn {
		s.jump = noJump
	}
}

// deeper counts calls within each other; false: there are too many.
func (s *Shell) deeper(name string) bool {
	if s.depth >= maxDepth {
		s.fail(&failure{text: name + ": maximum function nesting level exceeded (" + itoa(maxDepth) + ")", kind: endsShell, code: 1})
		return false
	}
	s.depth++
	return true
}

// file is the file that is being read: the script itself has none.
func (s *Shell) file() string {
	if len(s.calls) == 0 {
		return ""
	}
	return s.calls[len(s.calls)-1].file
}

// declareFunction keeps a function.
func (s *Shell) declareFunction(d *syntax.FuncDecl) {
	s.functions[d.Name.Value] = &function{body: d.Body, decl: d, file: s.file()}
	s.status = 0
	s.single()
}
