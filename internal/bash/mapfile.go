//go:build linux

package bash

import (
	"strconv"
)

// mapfile reads lines into an array.
func mapfile(s *Shell, a []string) int {
	args := a[1:]
	trims, delimiter, limit, skip, origin := false, byte('\n'), 0, 0, -1
	number := 0
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		opt := args[0]
		args = args[1:]
		if opt == "--" {
			break
		}
		if opt == "-t" {
			trims = true
			continue
		}
		value := opt[2:]
		if value == "" && len(args) > 0 {
			value, args = args[0], args[1:]
		}
		n, err := strconv.Atoi(value)
		switch {
		case opt[1] == 'd':
			delimiter = 0
			if value != "" {
				delimiter = value[0]
			}
			continue
		case err != nil || n < 0:
			return s.usage(a[0], "%s: invalid option or number", opt)
		}
		switch opt[1] {
		case 'n':
			limit = n
		case 's':
			skip = n
		case 'O':
			origin = n
		case 'u':
			number = n
		default:
			return s.usage(a[0], "%s: invalid option", opt)
		}
	}
	name := "MAPFILE"
	if len(args) > 0 {
		name = args[0]
	}
	if !validName(name) {
		s.errorf("%s: `%s': not a valid identifier", a[0], name)
		return 1
	}
	if number > maxDescriptor || s.files[number] == nil {
		s.errorf("%s: %d: invalid file descriptor", a[0], number)
		return 1
	}
	lines := s.linesOf(s.files[number], delimiter, skip, limit, trims)
	err := s.change(name, func(v *variable) error {
		l := &list{}
		if origin >= 0 {
			v.makeList()
			l = v.list
		}
		for i, t := range lines {
			l.put(max(origin, 0)+i, t)
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

// linesOf reads lines, with a buffer if it can give back what it read too many.
func (s *Shell) linesOf(f *file, delimiter byte, skip, limit int, trims bool) (lines []string) {
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
				return lines
			}
		}
		if total += n; err != nil || n == 0 || total > maxValue {
			break
		}
	}
	if len(line) > 0 {
		add(false)
	}
	return lines
}
