//go:build linux

package interp

import (
	"fmt"
	"strconv"
	"strings"
)

// test is test and [.
func test(s *Shell, a []string) int {
	args := a[1:]
	if a[0] == "[" {
		if len(args) == 0 || args[len(args)-1] != "]" {
			return s.usage("[", "missing `]'")
		}
		args = args[:len(args)-1]
	}
	t := &testing{s: s, args: args}
	yes, err := t.all()
	if err != nil {
		return s.usage(a[0], "%v", err)
	}
	return oneIf(!yes)
}

// testing reads the words of a test: by their number, as POSIX has it, and as an
// expression if there are more than four.
type testing struct {
	s    *Shell
	args []string
	at   int
}

func (t *testing) all() (bool, error) {
	a := t.args
	switch len(a) {
	case 0:
		return false, nil
	case 1:
		return a[0] != "", nil
	case 2:
		return t.two(a)
	case 3:
		return t.three(a)
	case 4:
		if a[0] == "!" {
			yes, err := t.three(a[1:])
			return !yes, err
		}
		if a[0] == "(" && a[3] == ")" {
			return t.two(a[1:3])
		}
	}
	yes, err := t.or()
	if err == nil && t.at < len(t.args) {
		return false, fmt.Errorf("too many arguments")
	}
	return yes, err
}

func (t *testing) two(a []string) (bool, error) {
	if a[0] == "!" {
		return a[1] == "", nil
	}
	if !isUnary(a[0]) {
		return false, fmt.Errorf("%s: unary operator expected", a[0])
	}
	return t.s.unaryTest(a[0], a[1])
}

func (t *testing) three(a []string) (bool, error) {
	switch {
	case isBinary(a[1]):
		return t.s.binaryTest(a[1], a[0], a[2])
	case a[1] == "-a":
		return a[0] != "" && a[2] != "", nil
	case a[1] == "-o":
		return a[0] != "" || a[2] != "", nil
	case a[0] == "!":
		yes, err := t.two(a[1:])
		return !yes, err
	case a[0] == "(" && a[2] == ")":
		return a[1] != "", nil
	}
	return false, fmt.Errorf("%s: binary operator expected", a[1])
}

func (t *testing) peek() string {
	if t.at < len(t.args) {
		return t.args[t.at]
	}
	return ""
}

func (t *testing) or() (bool, error) {
	yes, err := t.and()
	for err == nil && t.at < len(t.args) && t.peek() == "-o" {
		t.at++
		var other bool
		other, err = t.and()
		yes = yes || other
	}
	return yes, err
}

func (t *testing) and() (bool, error) {
	yes, err := t.not()
	for err == nil && t.at < len(t.args) && t.peek() == "-a" {
		t.at++
		var other bool
		other, err = t.not()
		yes = yes && other
	}
	return yes, err
}

func (t *testing) not() (bool, error) {
	negated := false
	for t.peek() == "!" && t.at+1 < len(t.args) {
		negated = !negated
		t.at++
	}
	yes, err := t.term()
	return yes != negated, err
}

func (t *testing) term() (bool, error) {
	left := len(t.args) - t.at
	if left == 0 {
		return false, fmt.Errorf("argument expected")
	}
	if left >= 3 && isBinary(t.args[t.at+1]) {
		a := t.args[t.at:]
		t.at += 3
		return t.s.binaryTest(a[1], a[0], a[2])
	}
	if t.peek() == "(" {
		t.at++
		yes, err := t.or()
		if err == nil && t.peek() != ")" {
			return false, fmt.Errorf("`)' expected")
		}
		t.at++
		return yes, err
	}
	if left >= 2 && isUnary(t.peek()) {
		a := t.args[t.at:]
		t.at += 2
		return t.s.unaryTest(a[0], a[1])
	}
	t.at++
	return t.args[t.at-1] != "", nil
}

func isUnary(op string) bool {
	return len(op) == 2 && op[0] == '-' && strings.IndexByte("abcdefghknoprstuvwxzGLNORS", op[1]) >= 0
}

func isBinary(op string) bool {
	switch op {
	case "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef":
		return true
	}
	return false
}

// binaryTest compares two texts; as [ does, which knows no patterns.
func (s *Shell) binaryTest(op, x, y string) (bool, error) {
	switch op {
	case "=", "==":
		return x == y, nil
	case "!=":
		return x != y, nil
	case "<":
		return x < y, nil
	case ">":
		return x > y, nil
	case "-nt", "-ot", "-ef":
		return s.compareFiles(op, x, y), nil
	}
	var n [2]int64
	for i, t := range []string{x, y} {
		var err error
		if n[i], err = strconv.ParseInt(strings.Trim(t, " \t\n"), 10, 64); err != nil {
			return false, fmt.Errorf("%s: integer expression expected", t)
		}
	}
	return compare(op, n[0], n[1]), nil
}

func compare(op string, x, y int64) bool {
	switch op {
	case "-eq":
		return x == y
	case "-ne":
		return x != y
	case "-lt":
		return x < y
	case "-le":
		return x <= y
	case "-gt":
		return x > y
	}
	return x >= y
}
