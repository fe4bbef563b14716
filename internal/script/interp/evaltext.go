//go:build linux

package interp

import (
	"tipstaff/internal/command/scan"
)

// evaluateText runs text that a command brings: eval, source, a trap. What it
// cannot be is refused now, with status 2.
func (s *Shell) evaluateText(name, text string) {
	if !s.deeper(name) {
		return
	}
	defer func() { s.depth-- }()
	script, err := scan.Parse(text)
	if err != nil {
		s.errorf("%s: %v", name, err)
		s.status = 2
		return
	}
	shift := s.shift
	s.shift = -1
	if len(script.File.Stmts) == 0 {
		s.status = 0
	}
	s.lines(script.File.Stmts)
	s.shift = shift
	if s.jump == toLine && !s.inSubshell {
		s.jump = noJump
	}
}
