//go:build linux

package interp

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// evaluation reads an expression and computes it on the way.
type evaluation struct {
	s     *Shell
	text  string
	at    int
	skips int // >0: what is read is not computed: the other branch of && || ?:
	nests int // of parentheses and the like
}

const maxExpression = 1024 // how deep expressions lie within each other

// evaluate computes the expression of a text.
func (s *Shell) evaluate(text string) (int64, error) {
	if s.expressions >= maxExpression {
		return 0, fmt.Errorf("%s: expression recursion level exceeded", text)
	}
	s.expressions++
	defer func() { s.expressions-- }()
	e := &evaluation{s: s, text: text}
	if e.blank(); e.at == len(text) {
		return 0, nil
	}
	n, err := e.comma()
	if err != nil {
		return 0, err
	}
	if e.at < len(e.text) {
		return 0, e.wrong("syntax error in expression")
	}
	return n, nil
}

func (e *evaluation) wrong(what string) error {
	return fmt.Errorf("%s: %s (error token is %q)", strings.TrimLeft(e.text, " \t"), what, e.text[min(e.at, len(e.text)):])
}

func (e *evaluation) blank() {
	for e.at < len(e.text) && strings.IndexByte(" \t\n", e.text[e.at]) >= 0 {
		e.at++
	}
}

// take takes an operator that is not the beginning of a longer one.
func (e *evaluation) take(op string, not string) bool {
	e.blank()
	rest := e.text[e.at:]
	if !strings.HasPrefix(rest, op) {
		return false
	}
	if len(rest) > len(op) && strings.IndexByte(not, rest[len(op)]) >= 0 {
		return false
	}
	e.at += len(op)
	return true
}

func (e *evaluation) comma() (int64, error) {
	n, err := e.assignment()
	for err == nil && e.take(",", "") {
		n, err = e.assignment()
	}
	return n, err
}

// place is what can be assigned to: a variable or an element.
type place struct {
	name, index string
	element     bool
}

var assignments = []string{"<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "="}

func (e *evaluation) assignment() (int64, error) {
	if e.nests++; e.nests > maxExpression {
		return 0, fmt.Errorf("expression recursion level exceeded")
	}
	defer func() { e.nests-- }()
	start := e.at
	p, is, err := e.place()
	if err != nil {
		return 0, err
	}
	if is {
		for _, op := range assignments {
			not := ""
			if op == "=" {
				not = "="
			}
			if e.take(op, not) {
				return e.assigned(p, strings.TrimSuffix(op, "="))
			}
		}
	}
	e.at = start
	return e.ternary()
}

func (e *evaluation) assigned(p place, op string) (int64, error) {
	var old int64
	var err error
	if op != "" { // before the right side, which may change it
		if old, err = e.load(p); err != nil {
			return 0, err
		}
	}
	n, err := e.assignment()
	if err != nil {
		return 0, err
	}
	if op != "" {
		if n, err = e.compute(op, old, n); err != nil {
			return 0, err
		}
	}
	return n, e.store(p, n)
}

func (e *evaluation) ternary() (int64, error) {
	n, err := e.binary(0)
	if err != nil || !e.take("?", "") {
		return n, err
	}
	skip := func(yes bool, f func() (int64, error)) (int64, error) {
		if yes {
			e.skips++
			defer func() { e.skips-- }()
		}
		return f()
	}
	a, err := skip(n == 0, e.comma)
	if err != nil {
		return 0, err
	}
	if !e.take(":", "") {
		return 0, e.wrong("`:' expected for conditional expression")
	}
	b, err := skip(n != 0, e.assignment)
	if n != 0 {
		return a, err
	}
	return b, err
}

// level is the operators of one precedence; not: what may not follow one.
type level []struct{ op, not string }

var levels = []level{
	{{"||", ""}}, {{"&&", ""}}, {{"|", "|="}}, {{"^", "="}}, {{"&", "&="}},
	{{"==", ""}, {"!=", ""}},
	{{"<=", ""}, {">=", ""}, {"<", "<="}, {">", ">="}},
	{{"<<", "="}, {">>", "="}},
	{{"+", "+="}, {"-", "-="}},
	{{"*", "*="}, {"/", "="}, {"%", "="}},
}

func (e *evaluation) binary(l int) (int64, error) {
	if l == len(levels) {
		return e.power()
	}
	n, err := e.binary(l + 1)
	for err == nil {
		op := ""
		for _, o := range levels[l] {
			if e.take(o.op, o.not) {
				op = o.op
				break
			}
		}
		if op == "" {
			return n, nil
		}
		skip := op == "&&" && n == 0 || op == "||" && n != 0
		if skip {
			e.skips++
		}
		var m int64
		m, err = e.binary(l + 1)
		if skip {
			e.skips--
		}
		if err == nil {
			n, err = e.compute(op, n, m)
		}
	}
	return 0, err
}

// power is right-associative, and weaker than a sign: -2**2 is 4.
func (e *evaluation) power() (int64, error) {
	n, err := e.unary()
	if err != nil || !e.take("**", "") {
		return n, err
	}
	m, err := e.power()
	if err != nil {
		return 0, err
	}
	return e.compute("**", n, m)
}

func validName(text string) bool { return syntax.ValidName(text) }
