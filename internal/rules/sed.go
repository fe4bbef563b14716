package rules

import "strings"

// SedStarts finds where a sed script starts programs: the command e, and the
// flag e of s (GNU sed). A script that cannot be followed to its end is taken
// as harmless from there on: sed refuses it as well. It returns the telling
// part, or "".
func SedStarts(script string) string {
	for s := (sedScript{text: script}); s.at < len(s.text); {
		if found := s.command(); found != "" {
			return found
		}
	}
	return ""
}

// SedFiles finds a file outside of the working directory that a sed script
// reads or writes (r, R, w, W), or returns "".
func SedFiles(script string) string {
	s := sedScript{text: script}
	for s.at < len(s.text) {
		s.command()
	}
	for _, file := range s.files {
		if file = strings.TrimLeft(file, " \t"); strings.HasPrefix(file, "/dev/std") {
			continue
		}
		if strings.HasPrefix(file, "/") || strings.HasPrefix(file, "~") || climbs(file) {
			return file
		}
	}
	return ""
}

type sedScript struct {
	text  string
	at    int
	files []string // that it names
}

// command steps over one command, with its addresses.
func (s *sedScript) command() string {
	s.skip(" \t\n;{}")
	s.address()
	if s.skip(" \t"); s.peek() == ',' {
		s.at++
		s.skip(" \t")
		s.address()
	}
	s.skip(" \t!")
	from := s.at
	c := s.peek()
	s.at++
	switch c {
	case 'e':
		return begin(s.text[from:])
	case 's':
		return s.substitution(from)
	case 'y':
		delimiter := s.peek()
		s.at++
		s.past(delimiter, false)
		s.past(delimiter, false)
	case 'a', 'i', 'c', 'r', 'R', 'w', 'W', 'b', 't', 'T', ':', '#', 'q', 'Q', 'l', 'L', 'v':
		s.argument(c)
	}
	return ""
}

// substitution reads s/…/…/flags.
func (s *sedScript) substitution(from int) string {
	delimiter := s.peek()
	s.at++
	s.past(delimiter, true)
	s.past(delimiter, false)
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == 'e':
			return begin(s.text[from:])
		case c == 'w':
			s.at++
			s.argument(c)
			return ""
		case strings.IndexByte("gpiImM0123456789", c) < 0:
			return ""
		}
	}
	return ""
}

// address steps over a line number, $, /…/ or \c…c, and what may follow it.
func (s *sedScript) address() {
	switch c := s.peek(); {
	case c == '/':
		s.at++
		s.past('/', true)
	case c == '\\':
		s.at++
		delimiter := s.peek()
		s.at++
		s.past(delimiter, true)
	default:
		s.skip("0123456789$~+")
		return
	}
	s.skip("IM")
}

// argument steps over what a command takes up to the end of the line; text of
// a, i and c goes on behind a backslash. Labels and numbers end at a ; as well.
func (s *sedScript) argument(command byte) {
	from := s.at
	defer func() {
		if strings.IndexByte("rRwW", command) >= 0 {
			s.files = append(s.files, s.text[min(from, s.at):min(s.at, len(s.text))])
		}
	}()
	for ; s.at < len(s.text) && s.text[s.at] != '\n'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
			continue
		}
		if strings.IndexByte("btTqQlL:v", command) >= 0 && (s.text[s.at] == ';' || s.text[s.at] == '}') {
			return
		}
	}
}

// past steps behind the next delimiter that is not escaped. In a regular
// expression, one in brackets is an ordinary character.
func (s *sedScript) past(delimiter byte, expression bool) {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\':
			s.at++
		case c == delimiter:
			s.at++
			return
		case expression && c == '[':
			s.brackets()
		}
	}
}

// brackets steps to the ] that closes the [ at the current place. A ] that
// comes first is an ordinary character, and so is a backslash.
func (s *sedScript) brackets() {
	s.at++
	s.skipOne('^')
	s.skipOne(']')
	for ; s.at < len(s.text) && s.text[s.at] != ']'; s.at++ {
		if s.text[s.at] != '[' || s.at+1 == len(s.text) || strings.IndexByte(":.=", s.text[s.at+1]) < 0 {
			continue
		}
		const longest = 32 // of the names of classes
		rest := s.text[s.at+2 : min(len(s.text), s.at+2+longest)]
		if end := strings.Index(rest, s.text[s.at+1:s.at+2]+"]"); end >= 0 {
			s.at += 2 + end + 1
		}
	}
}

func (s *sedScript) skipOne(c byte) {
	if s.peek() == c {
		s.at++
	}
}

func (s *sedScript) skip(set string) {
	for s.at < len(s.text) && strings.IndexByte(set, s.text[s.at]) >= 0 {
		s.at++
	}
}

func (s *sedScript) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}
