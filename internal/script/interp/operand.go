//go:build linux

package interp

import (
	"fmt"
)

func (e *evaluation) unary() (int64, error) {
	if e.nests++; e.nests > maxExpression {
		return 0, fmt.Errorf("expression recursion level exceeded")
	}
	defer func() { e.nests-- }()
	for _, op := range []string{"++", "--"} {
		start := e.at
		if !e.take(op, "") {
			continue
		}
		if p, is, err := e.place(); err != nil {
			return 0, err
		} else if is {
			return e.step(p, op, true)
		}
		e.at = start
	}
	for _, op := range []string{"!", "~", "+", "-"} {
		if !e.take(op, "") {
			continue
		}
		n, err := e.unary()
		switch op {
		case "!":
			n = int64(oneIf(n == 0))
		case "~":
			n = ^n
		case "-":
			n = -n
		}
		return n, err
	}
	return e.operand()
}

// step adds or takes one, before or after the value is seen.
func (e *evaluation) step(p place, op string, before bool) (int64, error) {
	n, err := e.load(p)
	if err != nil {
		return 0, err
	}
	m := n + 1
	if op == "--" {
		m = n - 1
	}
	if err := e.store(p, m); err != nil {
		return 0, err
	}
	if before {
		return m, nil
	}
	return n, nil
}

func (e *evaluation) operand() (int64, error) {
	if e.take("(", "") {
		n, err := e.comma()
		if err == nil && !e.take(")", "") {
			err = e.wrong("missing `)'")
		}
		return n, err
	}
	p, is, err := e.place()
	if err != nil {
		return 0, err
	}
	if is {
		for _, op := range []string{"++", "--"} {
			start := e.at
			if !e.take(op, "") {
				continue
			}
			// "a++b" is a + +b
			if e.blank(); e.at < len(e.text) && (wordByte(e.text[e.at]) || e.text[e.at] == '(') {
				e.at = start
				break
			}
			return e.step(p, op, false)
		}
		for _, op := range assignments {
			start := e.at
			if e.take(op, "=") {
				e.at = start
				return 0, e.wrong("attempted assignment to non-variable")
			}
		}
		return e.load(p)
	}
	return e.literal()
}

// place reads a name, or name[index].
func (e *evaluation) place() (p place, is bool, err error) {
	e.blank()
	end := e.at
	for end < len(e.text) && wordByte(e.text[end]) {
		end++
	}
	if p.name = e.text[e.at:end]; !validName(p.name) {
		return p, false, nil
	}
	e.at = end
	if end == len(e.text) || e.text[end] != '[' {
		return p, true, nil
	}
	depth := 0
	for i := end; i < len(e.text); i++ {
		switch e.text[i] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				p.index, p.element, e.at = e.text[end+1:i], true, i+1
				return p, true, nil
			}
		}
	}
	return p, false, e.wrong("bad array subscript")
}
