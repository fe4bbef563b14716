//go:build linux

package interp

import (
	"strconv"
	"strings"
)

// lineReading is what the options of mapfile say.
type lineReading struct {
	trims       bool
	delimiter   byte
	limit, skip int // lines; limit 0: all
	origin      int // the first index; -1: the array begins anew
	number      int // of the descriptor
	status      int // after a wrong option
}

// mapfile reads lines into an array.
func mapfile(s *Shell, a []string) int {
	r := lineReading{delimiter: '\n', origin: -1}
	args, wrong := r.options(a[1:])
	if wrong != "" {
		s.usage(a[0], "%s: invalid option or number", wrong)
		return r.status
	}
	name := "MAPFILE"
	if len(args) > 0 {
		name = args[0]
	}
	if !validName(name) {
		s.errorf("%s: `%s': not a valid identifier", a[0], name)
		return 1
	}
	if r.number > maxDescriptor || s.files[r.number] == nil {
		s.errorf("%s: %d: invalid file descriptor", a[0], r.number)
		return 1
	}
	if s.lookup(name).table != nil {
		s.errorf("%s: %s: not an indexed array", a[0], name)
		return 1
	}
	lines, err := s.linesOf(s.files[r.number], r.delimiter, r.skip, r.limit, r.trims)
	if err != nil {
		s.fail(err)
		return 1
	}
	err = s.change(name, func(v *variable) error {
		l := &list{}
		if r.origin >= 0 {
			v.makeList()
			l = v.list
		}
		for i, t := range lines {
			l.put(max(r.origin, 0)+i, t)
		}
		v.list, v.set, v.text = l, false, ""
		return nil
	})
	if err != nil {
		s.fail(err)
		return 1
	}
	return 0
}

// options reads the options, and returns the words behind them and the option that
// is wrong.
func (r *lineReading) options(args []string) (rest []string, wrong string) {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		opt := args[0]
		args = args[1:]
		if opt == "--" {
			break
		}
		letters := strings.TrimLeft(opt[1:], "t")
		r.trims = r.trims || len(letters) < len(opt)-1
		if letters == "" {
			continue
		}
		value := letters[1:]
		if value == "" && len(args) > 0 {
			value, args = args[0], args[1:]
		}
		if !r.option(letters[0], value) {
			return nil, opt
		}
	}
	return args, ""
}

func (r *lineReading) option(c byte, value string) bool {
	if c == 'd' {
		r.delimiter = 0
		if value != "" {
			r.delimiter = value[0]
		}
		return true
	}
	r.status = 2
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		if strings.IndexByte("nsOu", c) >= 0 {
			r.status = 1
		}
		return false
	}
	switch c {
	case 'n':
		r.limit = n
	case 's':
		r.skip = n
	case 'O':
		r.origin = n
	case 'u':
		r.number = n
	default:
		return false
	}
	return true
}

// linesOf reads lines, with a buffer if it can give back what it read too many.
func (s *Shell) linesOf(f *file, delimiter byte, skip, limit int, trims bool) (lines []string, err error) {
	size := 1
	if limit == 0 || seekBack(f.File, 0) {
		size = 32 << 10
	}
	buffer := make([]byte, size)
	var line []byte
	total := 0
	add := func(ends bool) bool {
		if skip > 0 {
			skip--
		} else {
			if !trims && ends {
				line = append(line, delimiter)
			}
			lines = append(lines, string(line))
		}
		line = line[:0]
		return limit == 0 || len(lines) < limit
	}
	for {
		n, err := f.Read(buffer)
		for i, c := range buffer[:n] {
			if c != delimiter {
				line = append(line, c)
				continue
			}
			if !add(true) {
				seekBack(f.File, n-i-1)
				return lines, nil
			}
		}
		if err != nil || n == 0 {
			break
		}
		if total += n; total > maxValue || len(lines) > maxFields {
			return nil, &failure{text: "mapfile: more than 64 MiB or 1,048,576 lines", kind: endsShell, code: 1}
		}
	}
	if len(line) > 0 {
		add(false)
	}
	return lines, nil
}
