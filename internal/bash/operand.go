//go:build linux

package bash

import (
	"fmt"
	"strconv"
	"strings"
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

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (e *evaluation) literal() (int64, error) {
	e.blank()
	end := e.at
	for end < len(e.text) && (wordByte(e.text[end]) || e.text[end] == '#' || e.text[end] == '@') {
		end++
	}
	if end == e.at || e.text[e.at] < '0' || e.text[e.at] > '9' {
		return 0, e.wrong("syntax error: operand expected")
	}
	n, err := numeral(e.text[e.at:end])
	if err != nil {
		return 0, err
	}
	e.at = end
	return n, nil
}

// numeral reads 12, 012, 0x1f and 2#101.
func numeral(text string) (int64, error) {
	base, digits := int64(10), text
	switch {
	case strings.HasPrefix(text, "0x"), strings.HasPrefix(text, "0X"):
		base, digits = 16, text[2:]
	case strings.Contains(text, "#"):
		b, rest, _ := strings.Cut(text, "#")
		n, err := strconv.ParseInt(b, 10, 64)
		if err != nil || n < 2 || n > 64 {
			return 0, fmt.Errorf("%s: invalid arithmetic base (error token is %q)", text, text)
		}
		if rest == "" {
			return 0, fmt.Errorf("%s: invalid integer constant (error token is %q)", text, text)
		}
		base, digits = n, rest
	case len(text) > 1 && text[0] == '0':
		base, digits = 8, text[1:]
	}
	var n int64
	for i := range len(digits) {
		d := digit(digits[i], base)
		if d < 0 {
			return 0, fmt.Errorf("%s: invalid number (error token is %q)", text, text)
		}
		if d >= base {
			return 0, fmt.Errorf("%s: value too great for base (error token is %q)", text, text)
		}
		n = n*base + d
	}
	return n, nil
}

func digit(c byte, base int64) int64 {
	switch {
	case c >= '0' && c <= '9':
		return int64(c - '0')
	case c >= 'a' && c <= 'z':
		return int64(c-'a') + 10
	case c >= 'A' && c <= 'Z' && base <= 36:
		return int64(c-'A') + 10
	case c >= 'A' && c <= 'Z':
		return int64(c-'A') + 36
	case c == '@':
		return 62
	case c == '_':
		return 63
	}
	return -1
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

func (e *evaluation) load(p place) (int64, error) {
	if e.skips > 0 {
		return 0, nil
	}
	v, special := e.s.special(p.name, nil)
	if !special {
		v = e.s.lookup(p.name)
	}
	text, set := v.scalar()
	if p.element {
		var err error
		if text, set, err = e.s.element(p.name, p.index); err != nil {
			return 0, err
		}
		if special {
			text, set = v.scalar()
		}
	}
	if !set {
		if e.s.options.nounset {
			return 0, &failure{text: p.name + ": unbound variable", kind: endsShell, code: e.s.fatal()}
		}
		return 0, nil
	}
	return e.s.evaluate(text, e.depth+1)
}

func (e *evaluation) store(p place, n int64) error {
	if e.skips > 0 {
		return nil
	}
	if p.element {
		return e.s.putElement(p.name, p.index, strconv.FormatInt(n, 10))
	}
	return e.s.assign(p.name, strconv.FormatInt(n, 10))
}

func (e *evaluation) compute(op string, x, y int64) (int64, error) {
	if e.skips > 0 {
		return 0, nil
	}
	truth := func(yes bool) (int64, error) { return int64(oneIf(yes)), nil }
	switch op {
	case "||":
		return truth(x != 0 || y != 0)
	case "&&":
		return truth(x != 0 && y != 0)
	case "==":
		return truth(x == y)
	case "!=":
		return truth(x != y)
	case "<=":
		return truth(x <= y)
	case ">=":
		return truth(x >= y)
	case "<":
		return truth(x < y)
	case ">":
		return truth(x > y)
	case "/", "%":
		if y == 0 {
			return 0, e.wrong("division by 0")
		}
		if op == "/" {
			return x / y, nil
		}
		return x % y, nil
	case "**":
		return e.raised(x, y)
	}
	return bits(op, x, y), nil
}

func bits(op string, x, y int64) int64 {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "|":
		return x | y
	case "^":
		return x ^ y
	case "&":
		return x & y
	case "<<":
		return x << (uint64(y) & 63)
	case ">>":
		return x >> (uint64(y) & 63)
	}
	return 0
}

func (e *evaluation) raised(x, y int64) (int64, error) {
	if y < 0 {
		return 0, e.wrong("exponent less than 0")
	}
	n := int64(1)
	for ; y > 0; y >>= 1 {
		if y&1 != 0 {
			n *= x
		}
		x *= x
	}
	return n, nil
}
