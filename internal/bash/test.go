//go:build linux

package bash

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
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

func (s *Shell) compareFiles(op, x, y string) bool {
	a, errA := s.stat(x, true)
	b, errB := s.stat(y, true)
	if op == "-ot" {
		a, b, errA, errB = b, a, errB, errA
	}
	if op == "-ef" {
		return errA == nil && errB == nil && sameFile(a, b)
	}
	switch {
	case errA != nil:
		return false
	case errB != nil:
		return true
	}
	return a.Mtim.Sec > b.Mtim.Sec || a.Mtim.Sec == b.Mtim.Sec && a.Mtim.Nsec > b.Mtim.Nsec
}

// stat is stat for the paths of the script: /dev/fd/N is its own descriptor.
func (s *Shell) stat(path string, follow bool) (*unix.Stat_t, error) {
	if n, is := s.descriptor(path); is && follow {
		if n > maxDescriptor || s.files[n] == nil {
			return nil, unix.ENOENT
		}
		var st unix.Stat_t
		err := unix.Fstat(int(s.files[n].Fd()), &st)
		return &st, err
	}
	return stat(s.dir, path, follow)
}

func (s *Shell) unaryTest(op, x string) (bool, error) {
	switch op {
	case "-n":
		return x != "", nil
	case "-z":
		return x == "", nil
	case "-v":
		return s.isSet(x), nil
	case "-R":
		return s.vars.holder(x).names[x].refers, nil
	case "-o":
		p := s.options.named(x)
		return p != nil && *p, nil
	case "-t":
		n, err := strconv.Atoi(strings.TrimSpace(x))
		if err != nil {
			return false, fmt.Errorf("%s: integer expression expected", x)
		}
		return n >= 0 && n <= maxDescriptor && s.files[n] != nil && isTerminal(s.files[n].File), nil
	case "-r":
		return permits(s.dir, x, 4), nil
	case "-w":
		return permits(s.dir, x, 2), nil
	case "-x":
		return permits(s.dir, x, 1), nil
	}
	st, err := s.stat(x, op != "-h" && op != "-L")
	return err == nil && fileTest(op, st), nil
}

func fileTest(op string, st *unix.Stat_t) bool {
	kind := st.Mode & unix.S_IFMT
	switch op {
	case "-a", "-e":
		return true
	case "-f":
		return kind == unix.S_IFREG
	case "-d":
		return kind == unix.S_IFDIR
	case "-h", "-L":
		return kind == unix.S_IFLNK
	case "-p":
		return kind == unix.S_IFIFO
	case "-S":
		return kind == unix.S_IFSOCK
	case "-b":
		return kind == unix.S_IFBLK
	case "-c":
		return kind == unix.S_IFCHR
	case "-s":
		return st.Size > 0
	case "-u":
		return st.Mode&unix.S_ISUID != 0
	case "-g":
		return st.Mode&unix.S_ISGID != 0
	case "-k":
		return st.Mode&unix.S_ISVTX != 0
	case "-O":
		return int(st.Uid) == unix.Geteuid()
	case "-G":
		return int(st.Gid) == unix.Getegid()
	case "-N":
		return st.Mtim.Sec > st.Atim.Sec || st.Mtim.Sec == st.Atim.Sec && st.Mtim.Nsec > st.Atim.Nsec
	}
	return false
}

// isSet is [ -v name ], of a variable or an element.
func (s *Shell) isSet(target string) bool {
	name, index, element := strings.Cut(target, "[")
	if element {
		index = strings.TrimSuffix(index, "]")
		if v := s.lookup(name); index == "@" || index == "*" {
			return len(all(&v)) > 0
		}
		_, ok, err := s.element(name, unquoted(index))
		if err != nil {
			s.fail(err)
		}
		return ok
	}
	v, special := s.special(name, nil)
	if !special {
		v = s.lookup(name)
	}
	_, set := v.scalar()
	return set
}

func isRegular(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFREG }

func isDirectory(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFDIR }
